"""What remedies install fits the machine they were given for; none mixes systems, or restarts before it is done."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.versions import Version, VersionSpec
from envkit.checks.engine.command import RELEASE
from envkit.checks.engine.findings import Status
from envkit.checks.engine.managers import appliance, managed_by
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.remedies import families
from envkit.checks.engine.runner import run_checks
from envkit.checks.frameworks.installs import installs, judged
from envkit.checks.nvidia_driver.outgrown import failing_kernel
from envkit.checks.nvidia_driver.own_packages import family_of
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.solver.model import Plan
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.solve import resolve
from envkit.solver.target import for_environment
from tests.checks.remedies_given import Given, remedies_at, remedies_given
from tests.checks.software import matrix
from tests.fakes.machines import load_machine

PIP = re.compile(r"(?:^|\s)-m pip install\s+(?P<words>.*)")
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?P<spec>.*)")
MANAGERS = {"apt-get": "debian", "apt-mark": "debian", "dpkg-query": "debian", "dnf": "rhel", "yum": "rhel",
            "zypper": "suse", "ubuntu-drivers": "debian", "update-initramfs": "debian", "dracut": "rhel"}  # fmt: skip
COMPANIONS = {"torchvision": "pytorch", "torchaudio": "pytorch"}
DEPENDENCY = re.compile(r": (?:keras|tensorflow-estimator)[<>=!~]")  # bounds that a build of TensorFlow has
OPTIONS_WITH_VALUE = ("--index-url", "--extra-index-url", "-f", "--find-links", "--target")


def requirements(command: str) -> list[str]:
    """What a pip command installs, without its options."""
    match = PIP.search(command)
    words = shlex.split(match["words"]) if match else []
    kept, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in OPTIONS_WITH_VALUE
            continue
        kept.append(word)
    return [word for word in kept if word != "\u2026"]


def wheels(remedies: Iterable[Given]) -> Iterator[tuple[Given, str, str, str]]:
    """Each requirement with its remedy: name, and what follows it."""
    for given in remedies:
        for command in given.commands:
            if command.startswith("wsl "):  # for the Linux in it, of which the facts tell nothing
                continue
            for line in requirements(command):
                match = REQUIREMENT.fullmatch(line)
                assert match is not None, f"{given}: {line}"
                yield given, line, match["name"].lower().replace("_", "-"), match["spec"]


def framework_of(name: str) -> str:
    """Our name of the framework whose package it is, '' for any other package."""
    found = matrix().framework(name)
    return found.name if found is not None and name in found.packages else ""


@pytest.mark.thorough
def test_there_are_remedies_to_judge() -> None:
    assert len({given.finding.id for given in remedies_given()}) > 80
    assert len({name for _, _, name, _ in wheels(remedies_given())}) > 8


INSTALLED = ("==$(", "==$TORCH")  # the shell asks for the release that is there


@pytest.mark.thorough
def test_no_framework_is_installed_without_its_release() -> None:
    loose = [
        f"{given}: {line}"
        for given, line, name, spec in wheels(remedies_given())
        if (framework_of(name) or name in COMPANIONS) and not spec.startswith(("==", " @ https://"))
        if not (name in COMPANIONS and any(f"torch{INSTALLED[1]}" in one for one in given.commands))  # torch decides
    ]
    assert not [line for line in loose if not DEPENDENCY.search(line)]


def _known(framework: str, version: Version) -> bool:
    return any(build.version == version for build in matrix().builds(framework))


@pytest.mark.thorough
def test_every_framework_that_is_installed_is_one_that_the_resolver_allows() -> None:
    judged_ones = 0
    for given, line, name, spec in wheels(remedies_given()):
        framework = framework_of(name)
        if not framework or name in COMPANIONS or not spec.startswith("==") or spec.startswith(INSTALLED):
            continue
        if spec == f"=={RELEASE}":  # the reader's own, which the text does not tell
            continue
        version = Version.find(spec)
        assert version is not None, line
        if any({"--no-cache-dir", "--no-deps", line} <= {*command.split()} for command in given.commands):
            continue  # the installed release, compiled anew for the CUDA that is there: no row of it is needed
        if given.finding.id == "onnxruntime-two-packages" and not _known(framework, version):
            continue  # the installed release again, without its CPU-only twin: no row of it is needed
        plan = resolve(request(given, framework, version), matrix())
        assert isinstance(plan, Plan), f"{given}: {line}"
        assert plan.choice.builds[0].cuda is not None, f"{given}: {line}"
        judged_ones += 1
    assert judged_ones > 15


def request(given: Given, framework: str, version: Version) -> Request:
    """That release on that machine, for the Python that the framework is installed in, from the index it names."""
    exactly = VersionSpec((("==", version),))
    pythons = [item.python.version for item in installs(given.environment, framework) if item.python.version]
    own = VersionSpec((("==", pythons[0].release(2)),)) if pythons else None
    asked = Request(frameworks=(FrameworkRequest(framework, exactly),), python=own)
    return replace(for_environment(asked, given.environment, matrix()), os_id=None)


@pytest.mark.thorough
def test_no_library_of_another_cuda_is_installed() -> None:
    for given, line, name, _ in wheels(remedies_given()):
        match = re.fullmatch(r"nvidia-.*-cu(\d+)", name)
        built = {
            str(framework.cuda.major)
            for python in judged(given.environment)
            for framework in python.frameworks
            if framework.cuda is not None
        }
        own = rf"\[cuda{match[1]}_pip\]==|jaxlib==[\d.]+\+cuda{match[1]}\." if match else ""
        whole = match and any(re.search(own, command) for command in given.commands)  # JAX changes its CUDA, too
        if match and not whole and len(built) == 1 and "nvidia-cu11-cu12" not in given.finding.id:
            assert match[1] in built, f"{given}: {line}"


@pytest.mark.thorough
def test_no_companion_of_another_release_is_left_next_to_a_new_torch() -> None:
    """Where torch changes, what is installed of its companions is known, or they are installed with it."""
    left = [
        f"{given}: {command}"
        for given in remedies_given()
        for command in given.commands
        if re.search(r"\btorch==\d", command) and not re.search(r"\btorchvision==\d|--force-reinstall", command)
        if not command.startswith(("uv add ", "poetry add "))  # which solves the whole project anew, or changes nothing
        if not any(item.installer for python in judged(given.environment) for item in python.distributions)
        if (given.environment.system.architecture.value or "x86_64") == "x86_64"
    ]
    # its list is of another Python than the one that fails, whose companions nobody can know
    assert [line for line in left if not line.startswith("reports/b2-32:")] == []


def commands_of(environment: Environment) -> tuple[str, ...]:
    """What the first finding is fixed with."""
    remedy = run_checks(environment, matrix(), all_checks().values())[0].remedy
    assert remedy is not None
    return remedy.commands


def told(text: str) -> tuple[str, ...]:
    return commands_of(parse_text(text))


def cause(name: str) -> tuple[str, ...]:
    return commands_of(load_machine(name))


NO_KERNELS = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def test_words_on_one_package_are_no_list_of_what_is_installed() -> None:
    words = told(f"{NO_KERNELS}Windows 10, GTX 1080 Ti, torch 2.8.0+cu128, driver 580.97")
    assert any("torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0" in line for line in words)
    listed = told(f"{NO_KERNELS}Windows 10, GTX 1080 Ti, driver 580.97\nPackage Version\n------- -------\n"
                  "torch 2.8.0+cu128\nnumpy 1.26.4\n")  # fmt: skip
    assert not any("torchvision" in line for line in listed)


def test_a_release_that_nobody_told_is_one_with_all_companions() -> None:
    for text in (
        f"{NO_KERNELS}RTX 5090, driver 570.86",
        "Torch not compiled with CUDA enabled\nRTX 3060, driver 560.35",
    ):
        commands = told(text)
        assert any("torchaudio==" in line for line in commands), commands


def test_what_requires_the_installed_torch_keeps_its_release() -> None:
    commands = told(
        "Attempting uninstall: torch\n  Found existing installation: torch 2.8.0+cu128\n"
        "  Successfully uninstalled torch-2.8.0+cu128\n"
        "Successfully installed torch-2.7.1 torchaudio-2.7.1 torchvision-0.22.1 vllm-0.10.0\n"
        "Ubuntu 22.04, RTX 4090, driver 570.86, x86_64\n"
    )
    assert any("torch==2.7.1" in line for line in commands), commands
    assert not any("torch==2.8.0" in line for line in commands), commands


def managers(command: str) -> set[str]:
    if "docker build" in command or command.startswith(("RUN ", "wsl ")):  # for the system of an image, or of WSL
        return set()
    words = re.split(r"[\s|;&$()]+", command)
    return {family for word, family in MANAGERS.items() if word in words}


def _is_known(environment: Environment, found: set[str]) -> bool:
    """Whether the text shows which system the commands are for: itself, its kernel, or its package manager."""
    by_kernel = family_of(environment, failing_kernel(environment))
    by_apt = found == {MANAGERS["apt-get"]} and managed_by(environment, "apt")
    return bool(environment.system.os.known or families(environment) or appliance(environment) or by_kernel or by_apt)


@pytest.mark.thorough
def test_a_block_is_for_one_system() -> None:
    for given in remedies_given():
        found = set().union(*map(managers, given.commands))
        assert len(found) < 2, f"{given}: {given.commands}"
        summary = given.finding.remedy.summary if given.finding.remedy else ""
        if found and not _is_known(given.environment, found) and "into its Dockerfile" not in summary:
            assert "/etc/os-release" in summary, f"{given}: {summary}"


@pytest.mark.thorough
def test_nothing_comes_after_a_restart() -> None:
    for given in remedies_given():
        assert not any(re.search(r"\breboot\b", line) for line in given.commands[:-1]), f"{given}: {given.commands}"


def test_consequences_have_no_remedy() -> None:
    for name in ("ubuntu22.04-rtx3090-mismatch", "ubuntu22.04-rtx4090-550-torch-replaced"):
        found = run_checks(load_machine(name), matrix(), all_checks().values())
        follow = [finding for finding in found if finding.because_of]
        assert follow and all(finding.remedy is None for finding in follow)
        assert found[0].status is Status.FAIL and found[0].remedy is not None


def test_a_wrong_companion_is_replaced_alone() -> None:
    # PyTorch, previous versions: torch 2.6.0 goes with torchvision 0.21.0
    (line,) = cause("ubuntu22.04-rtx4090-550-torchvision")
    assert line.endswith("-m pip install torchvision==0.21.0 --index-url https://download.pytorch.org/whl/cu124")


def test_a_replaced_torch_comes_back_in_its_release() -> None:
    removal, install, *_ = cause("ubuntu22.04-rtx4090-550-torch-replaced")
    assert removal.endswith("pip uninstall -y torch")
    assert install.endswith("pip install torch==2.6.0")


SAMPLE = (
    "ubuntu22.04-rtx4090-550-torchvision",
    "ubuntu22.04-rtx4090-535-torch-cu130",
    "ubuntu24.04-rtx5090-570-torch-cu124",
    "ubuntu22.04-rtx4090-550-jax-cpu",
    "texts/cudnn-missing-ct2",
    "texts/numpy2-abi-by-version",
)


@pytest.mark.network
@pytest.mark.parametrize("place", SAMPLE)
def test_the_package_index_has_what_is_installed(place: str, tmp_path: Path) -> None:
    lines = [line for _, line, _, _ in wheels(remedies_at(place))]
    assert lines
    for line in dict.fromkeys(lines):
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet",
                   "--target", str(tmp_path), line]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}: {done.stderr[-400:]}"
