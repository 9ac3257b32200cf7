"""NVIDIA's real user-space packages from Debian's non-free section, without a kernel module."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.host.local import LocalHost
from envkit.host.root import RootHost
from envkit.model import Environment, Problem
from envkit.model.assume import assume_facts
from envkit.probe.collect import collect
from envkit.tables import Matrix

pytestmark = pytest.mark.network

PACKAGES = ("libcuda1", "libnvidia-ml1", "nvidia-smi")
OLDER = ("libnvidia-tesla-470-cuda1", "libnvidia-tesla-470-ml1")
LIBRARIES = "usr/lib/x86_64-linux-gnu/nvidia"
GPU = (
    'pci_gpus=[{"pci_address": "0000:01:00.0", "device_id": "2204", "pci_class": "0300", "name": "GeForce RTX 3090", '
    '"compute_capability": "8.6", "config_readable": true}]'
)


def _mirror() -> str:
    """The mirror that this machine's own apt uses."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    return str(re.findall(r"https?://[^\s\]]*/debian/?(?=\s|$)", text)[0])


def _download(folder: Path) -> Path:
    """The unpacked packages, fetched with an apt state of its own: this machine's package lists stay as they are."""
    (folder / "state/lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb {_mirror()} bookworm non-free\n")
    options = [
        "-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
        "-o", f"Dir::State::lists={folder}/state/lists", "-o", f"Dir::Cache={folder}/cache",
        "-o", "APT::Sandbox::User=root",
    ]  # fmt: skip
    subprocess.run(["apt-get", *options, "update"], check=True, capture_output=True, timeout=120)
    names = [*PACKAGES, *OLDER]
    subprocess.run(["apt-get", *options, "download", *names], check=True, capture_output=True, timeout=300, cwd=folder)
    for package in folder.glob("*.deb"):
        target = folder / ("older" if "tesla-470" in package.name else "root")
        subprocess.run(["dpkg", "-x", package, target], check=True)
    return folder


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The packages. NVIDIA's libraries, asked as root, leave device nodes behind; those are taken away again."""
    before = set(Path("/dev").glob("nvidia*"))
    yield _download(tmp_path_factory.mktemp("debian-driver"))
    for node in set(Path("/dev").glob("nvidia*")) - before:
        node.unlink()


def _with_libraries(unpacked: Path, *folders: str) -> LocalHost:
    searched = ":".join(str(unpacked / folder) for folder in folders)
    programs = f"{unpacked}/root/usr/lib/nvidia/current:{os.environ['PATH']}"
    return LocalHost({**os.environ, "LD_LIBRARY_PATH": searched, "PATH": programs})


def _first_fail(environment: Environment) -> Finding:
    findings = run_checks(environment, Matrix.load(), list(all_checks().values()))
    return next(finding for finding in findings if finding.status is Status.FAIL)


def test_real_libraries_without_a_module_say_so(unpacked: Path) -> None:
    driver = collect(_with_libraries(unpacked, f"root/{LIBRARIES}/current")).driver
    assert (driver.nvml.get().code, driver.nvml.get().name) == (9, "NVML_ERROR_DRIVER_NOT_LOADED")
    assert (driver.nvidia_smi.get().code, driver.cuda_init.get().code) == (9, 100)
    assert driver.cuda_init.get().name == "CUDA_ERROR_NO_DEVICE"
    assert driver.cuda_device_count.get() == 0
    assert str(driver.driver_cuda_version.get()) == "12.2"
    assert driver.user_space.get().major == 535
    assert driver.kernel_module.problem is Problem.ABSENT


def test_the_loader_takes_the_first_of_two_versions(unpacked: Path) -> None:
    older, newer = f"older/{LIBRARIES}/tesla-470", f"root/{LIBRARIES}/current"
    driver = collect(_with_libraries(unpacked, older, newer)).driver
    assert {item.version.major for item in driver.libraries.get() if item.version} == {470, 535}
    assert driver.user_space.get().major == 470
    assert str(driver.driver_cuda_version.get()) == "11.4"


def test_without_a_gpu_that_is_the_verdict(unpacked: Path) -> None:
    environment = collect(_with_libraries(unpacked, f"root/{LIBRARIES}/current"))
    if environment.pci_gpus.get():
        pytest.skip("this machine has an NVIDIA GPU")
    assert _first_fail(environment).id == "no-gpu-on-pci"


def test_with_a_gpu_the_module_is_named(unpacked: Path) -> None:
    environment = collect(_with_libraries(unpacked, f"root/{LIBRARIES}/current"))
    assumed = assume_facts(environment, [GPU, "kernel.loaded_modules=ext4", "system.machine_kind=metal"])
    assert _first_fail(assumed).id == "driver-module-not-loaded"


def test_a_mismatch_of_two_versions_is_named(unpacked: Path) -> None:
    """The older module is loaded; the newer library answers."""
    environment = collect(_with_libraries(unpacked, f"root/{LIBRARIES}/current"))
    nodes = [
        {"path": path, "mode": "0666", "owner": "root", "group": "root", "accessible": True}
        for path in ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")
    ]
    loaded = [
        GPU,
        "kernel.loaded_modules=nvidia,nvidia_uvm",
        "driver.kernel_module=470.256.02",
        "system.machine_kind=metal",
        'driver.nvml={"code": 18, "name": "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "call": "nvmlInit"}',
        f"driver.device_nodes={json.dumps(nodes)}",
    ]
    assert _first_fail(assume_facts(environment, loaded)).id == "driver-library-mismatch"


def test_an_unpacked_root_shows_its_libraries(unpacked: Path) -> None:
    environment = collect(RootHost(str(unpacked / "root")))
    assert environment.driver.user_space.get().major == 535
    assert {item.name for item in environment.driver.libraries.get()} == {"libcuda.so.1", "libnvidia-ml.so.1"}
    assert environment.driver.kernel_module.problem is Problem.NOT_LOOKED
    assert environment.pci_gpus.problem is Problem.NOT_LOOKED
