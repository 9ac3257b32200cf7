"""What an error of the driver proves and what it leaves open, and what remedies say of releases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.base.versions import ComputeCapability
from envkit.compat.gpu import gpu_runs_build
from envkit.tables import Matrix

_MISMATCH = "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n"
_NO_DRIVER = (
    "$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
    "latest NVIDIA driver is installed and running.\n"
)
_PROVED = ("driver-not-installed", "driver-module-not-loaded", "nvml-library-missing")
_TRITON = "Windows 11, Python 3.10.6\nModuleNotFoundError: No module named 'triton'\n"


def _envkit(folder: Path, *words: str) -> str:
    run = [sys.executable, "-m", "envkit", *words]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, env=os.environ | {"COLUMNS": "100"})  # noqa: S603
    return " ".join((done.stdout + done.stderr).split())


def _doctor(folder: Path, text: str) -> str:
    (folder / "report.txt").write_text(text)
    return _envkit(folder, "doctor", "--from", "report.txt", "-v")


def test_a_mismatch_proves_a_driver_and_no_health(tmp_path: Path) -> None:
    shown = _doctor(tmp_path, _MISMATCH)
    assert all(f"ok {check}: " in shown for check in _PROVED)
    assert "ok external-power-missing" not in shown and "ok inforom-corrupted" not in shown
    assert "whether CUDA works" not in shown and "the driver responds" not in shown
    assert shown.count("Driver/library version mismatch [input line 2") == 1


def test_another_error_proves_no_driver(tmp_path: Path) -> None:
    shown = _doctor(tmp_path, _NO_DRIVER)
    assert not any(f"ok {check}: " in shown for check in _PROVED)


@pytest.mark.parametrize(
    ("torch", "series"), [("", "triton-windows==SERIES.*"), ("torch 2.6.0+cu124\n", "triton-windows==3.2.*")]
)
def test_the_port_of_triton_is_pinned(tmp_path: Path, torch: str, series: str) -> None:
    shown = _doctor(tmp_path, _TRITON + torch)
    assert series in shown and ("print(torch.__version__)" in shown) == (not torch)


def test_only_the_kernels_that_run_are_named() -> None:
    builds = [build for build in Matrix.load().builds("tensorflow") if str(build.version) == "2.14.1" and build.sass]
    detail = gpu_runs_build(ComputeCapability.parse("6.1"), builds[0]).detail
    assert "(sm_60)" in detail and "sm_70" not in detail


def test_a_python_for_every_pin_of_the_file(tmp_path: Path) -> None:
    both = "FROM nvidia/cuda:11.8.0-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    (tmp_path / "Dockerfile").write_text(both + "RUN pip3 install torch==2.6.0 torchvision==0.20.0\n")
    shown = _envkit(tmp_path, "dockerfile", "--check", "Dockerfile")
    assert "such as 3.12" in shown and "such as 3.13" not in shown
    (tmp_path / "Dockerfile").write_text(both + "RUN pip3 install torch==2.6.0\n")
    assert "such as 3.13" in _envkit(tmp_path, "dockerfile", "--check", "Dockerfile")


def test_two_commands_replace_and_one_refuses(tmp_path: Path) -> None:
    base = "FROM python:3.11\nRUN pip install torch==2.6.0"
    (tmp_path / "Dockerfile").write_text(f"{base} torchvision==0.20.0\n")
    assert "pip reports a conflict and stops." in _envkit(tmp_path, "dockerfile", "--check", "Dockerfile")
    (tmp_path / "Dockerfile").write_text(f"{base}\nRUN pip install torchvision==0.20.0\n")
    shown = _envkit(tmp_path, "dockerfile", "--check", "Dockerfile")
    assert "The later command replaces packages" in shown and "reports a conflict" not in shown


def test_the_extra_that_brings_cuda(tmp_path: Path) -> None:
    words = ("check", "requirements.txt", "--python", "3.10", "--os", "ubuntu22.04", "--driver", "535.183.01")
    (tmp_path / "requirements.txt").write_text("tensorflow==2.15.0\n")
    said = _envkit(tmp_path, *words)
    assert "or replace tensorflow==2.15.0 with tensorflow[and-cuda]==2.15.1, which installs them as wheels" in said
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.0\n")  # no release of that line has the extra
    assert "and-cuda" not in _envkit(tmp_path, *words)


def test_release_dates_are_of_the_release(tmp_path: Path) -> None:
    assert "Caffe 1.0 2017-04-15" in _envkit(tmp_path, "matrix", "frameworks", "--compare")
