"""Real wheels from the package index, each in an environment of its own, some broken on purpose; none is imported."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.host.local import LocalHost
from envkit.model import Environment, Gpu, PythonEnvironment, found
from envkit.model.paths import with_facts
from envkit.probe.pythons import pythons
from envkit.tables import Matrix
from tests.processor_time import least_seconds

pytestmark = pytest.mark.network
DRIVER = {"driver.kernel_module": Version.parse("580.65.06"), "system.architecture": "x86_64"}
GPU = Gpu(0, "NVIDIA GeForce RTX 4090", compute_capability=ComputeCapability.parse("8.9"))


def install(venv: Path, *packages: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(venv),
        "install",
        "-q",
        "--no-deps",
        "--no-compile",
        *packages,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def seen(venv: Path, **variables: str) -> PythonEnvironment:
    host = LocalHost({"VIRTUAL_ENV": str(venv), "PATH": "/usr/bin:/bin", **variables})
    return next(python for python in pythons(host).get() if python.prefix == str(venv))


def judged(python: PythonEnvironment, *ids: str) -> dict[str, list[str]]:
    """The statuses of some checks on a machine with an RTX 4090 and this environment."""
    facts = {"pythons": (python,), "gpus": (GPU,), **DRIVER}
    environment = with_facts(Environment(), {path: found(value, "test") for path, value in facts.items()})
    matrix = Matrix.load()
    return {id: [f.status.value for f in run_checks(environment, matrix, [all_checks()[id]])] for id in ids}


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], cwd=tmp_path, check=True)
    return tmp_path / "venv"


@pytest.fixture(scope="module")
def torch_venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with PyTorch's CPU wheel for Linux."""
    folder = tmp_path_factory.mktemp("torch")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], cwd=folder, check=True)
    venv = folder / "venv"
    install(venv, "torch==2.13.0", "numpy<2", "--extra-index-url", "https://download.pytorch.org/whl/cpu")
    yield venv
    shutil.rmtree(folder)


def site(venv: Path) -> Path:
    return next(venv.glob("lib/python*/site-packages"))


def metadata(venv: Path, name: str) -> Path:
    return next(site(venv).glob(f"{name}-*.dist-info")) / "METADATA"


def test_a_cpu_build_of_pytorch_is_named(torch_venv: Path) -> None:
    python = seen(torch_venv)
    (torch,) = python.frameworks
    if torch.cuda is not None:
        pytest.skip("the index gave a CUDA build")
    assert (torch.name, torch.cuda_known) == ("pytorch", True)
    assert judged(python, "cpu-only-wheel")["cpu-only-wheel"] == ["fail"]
    assert python.glibc_needed
    assert python.libstdcxx_version is not None


def test_pins_that_another_package_broke_are_named(venv: Path) -> None:
    install(venv, "nvidia-cuda-runtime-cu12==12.4.127", "nvidia-nvtx-cu12==12.4.127", "nvidia-cuda-nvrtc-cu12==12.6.85")
    owner = site(venv) / "torch-2.6.0.dist-info"
    owner.mkdir()
    pins = [f"Requires-Dist: nvidia-{name}-cu12==12.4.127" for name in ("cuda-runtime", "nvtx", "cuda-nvrtc")]
    (owner / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", "Name: torch", "Version: 2.6.0", *pins, ""]))
    python = seen(venv)
    assert judged(python, "nvidia-wheels-pin-conflict")["nvidia-wheels-pin-conflict"] == ["fail"]
    text = (owner / "METADATA").read_text()
    (owner / "METADATA").write_text(re.sub(r"(nvrtc-cu12==)12\.4\.127", r"\g<1>12.6.85", text))
    assert judged(seen(venv), "nvidia-wheels-pin-conflict")["nvidia-wheels-pin-conflict"] == ["ok"]


def test_a_file_of_two_wheels_is_seen(venv: Path) -> None:
    install(venv, "nvidia-nvtx-cu11==11.8.86")
    install(
        venv, "nvidia-nvtx-cu12==12.4.127", "nvidia-cuda-runtime-cu12==12.4.127", "nvidia-cuda-runtime-cu11==11.8.89"
    )
    python = seen(venv)
    assert any("nvidia-nvtx-cu11, nvidia-nvtx-cu12" in line for line in python.owners_clash)
    ids = "nvidia-cu11-cu12-cu13-mixed"
    assert judged(python, ids)[ids] == ["warn"]


def test_cudnn_of_two_releases_in_one_folder_is_named(venv: Path) -> None:
    install(venv, "nvidia-cudnn-cu12==8.9.2.26")
    python = seen(venv)
    assert {str(version) for version in python.cudnn_sublibraries.values()} == {"8.9.2"}
    ids = "cudnn-mixed-sublibraries"
    assert judged(python, ids)[ids] == ["ok"]
    part = next(site(venv).glob("nvidia/cudnn/lib/libcudnn_ops_infer.so.8"))
    part.write_bytes(part.read_bytes() + b"another release")
    assert judged(seen(venv), ids)[ids] == ["fail"]


def test_an_environment_with_pytorch_is_read_in_well_under_a_second(torch_venv: Path) -> None:
    seen(torch_venv)
    assert least_seconds(lambda: seen(torch_venv), 0.8) < 0.8


def test_metadata_of_a_real_wheel_is_whole(torch_venv: Path) -> None:
    torch = next(item for item in seen(torch_venv).distributions if item.name == "torch")
    lines = [
        line for line in metadata(torch_venv, "torch").read_text().splitlines() if line.startswith("Requires-Dist")
    ]
    assert len(torch.requires) == len(lines)
    assert torch.installer == "pip"
    assert any("manylinux" in tag for tag in torch.wheel_tags)
