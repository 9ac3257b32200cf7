"""Random and mutated texts, ten thousand in the gate: no crash, no message out of noise, no `fail` out of health."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import COMPLAINT, Environment
from envkit.tables import Matrix
from tests.ingest.texts import cases

MATRIX = Matrix.load()
CHECKS = tuple(all_checks().values())
WORDS = [
    "GPU", "CUDA", "driver", "nvidia", "version", "error", "0", "1", "12.4", "535.183.01", "failed", "ok",
    "warning", "|", "+", "-", ":", "=", "/", "$", ">", "[", "]", "(", ")", "N/A", "Off", "On", "torch",
    "tensorflow", "cudnn", "lib", ".so.12", "device", "kernel", "module", "loaded", "not", "found", "memory",
    "16x", "8x", "LnkSta", "Speed", "Width", "x16", "0000:01:00.0", "00000000:65:00.0", "NVIDIA", "GeForce", "RTX",
    "3090", "A100", "Xid", "PCI", "docker", "runtime", "python", "pip", "list", "Package", "Version", "index,",
    "name,", "MiB", "%", "W", "C", "P0", "P8", "Default", "Enabled", "Disabled", "Active", "Inactive", "True",
    "False", "None", "step", "loss", "epoch",
]  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 .,:;/|+-_=()[]{}<>#$%&@!?\"'`~\\\t\n\r\x1b\x00éß漢😀\u2028\u00a0"


def fails(environment: Environment) -> list[str]:
    findings = run_checks(environment, MATRIX, CHECKS)
    broken = [finding for finding in findings if finding.status is Status.ERROR]
    assert broken == []
    return [finding.id for finding in findings if finding.status is Status.FAIL]


def tells_nothing(environment: Environment) -> bool:
    return environment == parse_text("")


def noise(source: random.Random) -> str:
    if source.random() < 0.5:
        return "".join(source.choices(LETTERS, k=source.randrange(400)))
    return " ".join(source.choices([*WORDS, "\n"], k=source.randrange(120)))


def cut(text: str, source: random.Random) -> str:
    return text[: source.randrange(len(text))]


def tail(text: str, source: random.Random) -> str:
    return text[source.randrange(len(text)) :]


def shuffled(text: str, source: random.Random) -> str:
    """In another order, with what is below a heading left there."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if blocks and indent(line) > indent(blocks[-1][0]):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    source.shuffle(blocks)
    return "\n".join(line for block in blocks for line in block)


def dropped(text: str, source: random.Random) -> str:
    """Without a fifth of its lines, but with every heading: the lines below one say something else without it."""
    lines = text.splitlines()
    headings = [indent(line) < indent(below) for line, below in zip(lines, [*lines[1:], ""], strict=True)]
    kept = zip(lines, headings, strict=True)
    return "\n".join(line for line, heading in kept if source.random() > 0.2 or heading)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def doubled(text: str, source: random.Random) -> str:
    return "\n".join(line for line in text.splitlines() for _ in range(source.choice((1, 1, 1, 2))))


def wrapped(text: str, source: random.Random) -> str:
    width = source.randrange(30, 100)
    lines = [line[at : at + width] for line in text.splitlines() for at in range(0, max(len(line), 1), width)]
    return "\n".join(lines)


def quoted(text: str, source: random.Random) -> str:
    mark = source.choice(("> ", ">> ", "  > ", "    ", "\t", "\x1b[31m"))
    return "".join(f"{mark}{line}\r\n" for line in text.splitlines())


def sprinkled(text: str, source: random.Random) -> str:
    letters = list(text)
    for _ in range(source.randrange(1, 6)):
        letters.insert(source.randrange(len(letters)), source.choice(" \n|+x:*\x00\t"))
    return "".join(letters)


HARMLESS: tuple[Callable[[str, random.Random], str], ...] = (cut, tail, shuffled, dropped, doubled, wrapped, quoted)


@pytest.mark.parametrize("count", [15, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_noise_tells_no_message_and_no_fail(count: int) -> None:
    source = random.Random(20261121)
    judged = 0
    for number in range(count):
        text = noise(source)
        environment = parse_text(text)
        assert {message.signature for message in environment.messages.get()} <= {COMPLAINT}, (number, text)
        if not tells_nothing(environment):
            judged += 1
            assert fails(environment) == [], (number, text)
    assert judged < count


# Healthy only by what is elsewhere in the text: the other GPU that works, the job's prompt, the guest's nvidia-smi.
# A mutation that takes that away leaves what a faulty machine shows.
# Sets of machines in which nearly every sign of trouble is outweighed by another part of the text.
SETS_BY_CONTRAST = tuple(
    f"healthy-{name}-"
    for name in (
        *("third", "fourth", "fifth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
        *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
        *("eighteenth", "nineteenth", "twentieth", "twentyfirst", "twentysecond", "twentythird", "twentyfourth"),
        *("variant", "work"),
    )
)
BY_CONTRAST = {
    *("healthy-instinct-bar", "healthy-twentyfifth-slurm-2080ti-srun"),
    *("healthy-ascend-npu", "healthy-asked-before-buying", "healthy-ci-fix-numpy"),
    *("healthy-closed-mismatch", "healthy-compose-api-without-gpu", "healthy-docker-context-of-mac"),
    *("healthy-gke-l4-installer", "healthy-idle-link-two-looks", "healthy-incus-4060", "healthy-inxi-failed-nvidia"),
    "healthy-pytest-hides-gpu",
    *("healthy-lambda-h100-torchrun", "healthy-old-680-left-dark", "healthy-others-error-804"),
    *("healthy-past-rminit-bhyve", "healthy-release-notes-driver", "healthy-riser-replaced"),
    *("healthy-selinux-old-denial", "healthy-t400-import-in-passing", "healthy-t400-nvr-no-torch"),
    *("healthy-tf-on-cpu-meant", "healthy-vllm-v100-patched"),
    *("healthy-machine-gcp-a2-one", "healthy-machine-hgx4-no-fm", "healthy-machine-nvlink-pair-of-three"),
    *("healthy-machine-old-card-nouveau", "healthy-machine-passthrough-unlicensed"),
    *("healthy-machine-persistenced-early", "healthy-machine-slurm-cgroup", "healthy-machine-vfio-one-of-two"),
    *("healthy-machine-wsl-modinfo", "healthy-second-egpu-3080-thunderbolt", "healthy-second-mining-riser-6x3060"),
    *("healthy-second-proxmox-vfio-host-and-guest", "healthy-second-slurm-login-and-compute-cgroup"),
    *("healthy-machine-pod", "healthy-machine-wsl2", "healthy-second-gb200-compute-tray-570"),
    *("healthy-second-laptop-4060-hybrid-battery", "healthy-second-wsl2-win11-5070ti"),
    *("healthy-second-h100-pcie-fabricmanager-not-needed", "healthy-lost-gpu-mock", "healthy-advice-to-others"),
    *("healthy-wsl1-asked", "healthy-error-802-asked"),
    *("healthy-proxmox-host", "healthy-readme-prose", "healthy-machine-a100-mig", "healthy-q-570-hgx"),
    *("healthy-mismatch-solved", "healthy-cpu-machine-onnxruntime", "healthy-nightly-companions"),
    *("healthy-release-notes-xid", "healthy-learned-rocm-nvcc", "healthy-learned-wsl-tensorflow"),
    *("healthy-cpu-by-design", "healthy-engine-moved-next-month", "healthy-code-43-of-others", "healthy-faq-of-nvvm"),
    *("healthy-killed-by-hand", "healthy-gaudi", "healthy-wish-signing"),
    *("healthy-singularity-v100-login", "healthy-d3cold-then-used", "healthy-jetson-own-wheel"),
    *("healthy-operator-a30-mig", "healthy-pip-retried", "healthy-dkms-of-another-module"),
    *("healthy-twentyfifth-h200-8x-allreduce", "healthy-twentyfifth-gb200-sglang-checkenv"),
    *("healthy-mig-old-name-old-driver", "healthy-mdevctl-v100s"),
}


@pytest.mark.parametrize("count", [12, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_a_mutated_healthy_text_gets_no_fail(count: int) -> None:
    source = random.Random(4)
    healthy = [case for case in cases() if case.healthy]
    for number in range(count):
        case, mutate = source.choice(healthy), source.choice(HARMLESS)
        text = mutate(case.text, source)
        if case.name in BY_CONTRAST or case.name.startswith(SETS_BY_CONTRAST):
            continue
        assert fails(parse_text(text)) == [], (number, case.name, mutate.__name__, text)


@pytest.mark.parametrize("count", [25, pytest.param(700, marks=pytest.mark.thorough)])
def test_a_mutated_text_of_any_kind_never_breaks(count: int) -> None:
    source = random.Random(7)
    every = cases()
    for _ in range(count):
        text = source.choice(every).text
        for mutate in source.choices((*HARMLESS, sprinkled), k=2):
            text = mutate(text, source) or "x"
        parse_text(text)
