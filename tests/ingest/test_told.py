"""What people write in their own words: facts of this machine, weaker than what a program printed."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Confidence, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model.facts_json import to_json
from tests.checks.software import matrix
from tests.ingest.texts import told

SAID = (
    ("Windows 11, RTX 5070 Ti, driver 576.52", "pci_gpus.0.name", "GeForce RTX 5070 Ti"),
    ("Windows 11, RTX 5070 Ti, driver 576.52", "driver.user_space", "576.52"),
    ("Windows 11, RTX 5070 Ti, driver 576.52", "system.os.id", "windows"),
    ("my card is a gtx1080ti", "pci_gpus.0.name", "GeForce GTX 1080 Ti"),
    ("Two A100s in the box.", "pci_gpus.0.name", "A100"),
    ("系统 Ubuntu 22.04,50 系显卡", "pci_gpus.0.name", "GeForce 50 series"),
    ("laptop with an RTX 3060 Laptop GPU", "pci_gpus.0.name", "GeForce RTX 3060 Laptop GPU"),
    ("PyTorch 2.9.1(cu128) imports", "pythons.0.frameworks.0.cuda", "12.8"),
    ("torch in the environment is 2.1.0 from the cu121 index", "pythons.0.frameworks.0.cuda", "12.1"),
    ("It has torch 2.4.0 with CUDA 12.4", "pythons.0.frameworks.0.cuda", "12.4"),
    ("| tensorflow | 2.17.0 |\nTensorFlow 2.17.0 it is", "pythons.0.frameworks.0.version", "2.17.0"),
    ("- Python version: 3.13", "pythons.0.version", "3.13"),
    ("nvcc: release 8.0, V8.0.61\ngcc 6.4.0", "nvcc.version", "8.0"),
    ("nvcc: release 8.0, V8.0.61\ngcc 6.4.0", "host_compilers.0.version", "6.4.0"),
    ("WSL 2 with Ubuntu 22.04 on Windows 11", "system.machine_kind", "wsl2"),
    ("WSL 2 with Ubuntu 22.04 on Windows 11", "system.os.os_id", "ubuntu22.04"),
)
NOT_SAID = (
    ("Should I install driver 550 or torch 2.4 for an RTX 5090?", ("driver.user_space", "pythons", "pci_gpus")),
    ("I do not have an RTX 3090.", ("pci_gpus",)),
    ("It works on my other machine with an RTX 3090 and torch 2.3.1.", ("pci_gpus", "pythons")),
    ("I tried torch 2.1, then torch 2.3 and torch 2.5.", ("pythons",)),
    ("needs driver 525 or newer", ("driver.user_space",)),
    ("tried driver 535 and driver 550", ("driver.user_space",)),
)


@pytest.mark.parametrize(("text", "path", "value"), SAID)
def test_a_sentence_tells_a_fact_and_its_source_says_so(text: str, path: str, value: str) -> None:
    document = to_json(parse_text(text))
    assert told(document, path) == value
    node = document[path.partition(".")[0]] if path[0] in "pnh" else document[path.split(".")[0]][path.split(".")[1]]
    assert node["source"].endswith("(told)")


@pytest.mark.parametrize(("text", "paths"), NOT_SAID)
def test_questions_denials_and_other_machines_tell_nothing(text: str, paths: tuple[str, ...]) -> None:
    environment = parse_text(text)
    for path in paths:
        section, _, name = path.rpartition(".")
        node = getattr(environment, section) if section else environment
        assert not getattr(node, name).known, path


def test_what_a_program_printed_counts_before_what_is_told() -> None:
    environment = parse_text(
        "I have an RTX 3090, driver 470 and torch 1.13.\n\n"
        "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-11111111)\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n"
        "torch==2.3.1+cu121\n"
    )
    assert [gpu.name for gpu in environment.gpus.get()] == ["NVIDIA GeForce RTX 4090"]
    assert not environment.pci_gpus.known and not environment.driver.user_space.known
    assert [item.version for item in environment.pythons.get()[0].frameworks] == ["2.3.1"]


def test_told_facts_are_judged_and_the_verdict_is_likely() -> None:
    environment = parse_text("RTX 5070 Ti, torch 2.4.1+cu121. Every kernel fails.\n")
    first = run_checks(environment, matrix(), all_checks().values())[0]
    assert (first.id, first.status, first.confidence) == ("arch-newer-than-build", Status.FAIL, Confidence.LIKELY)
