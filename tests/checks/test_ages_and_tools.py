"""Packages, engines, images and tools of the wrong age or for another system, and what stops a machine under load."""

from __future__ import annotations

import pytest

from envkit.ingest import parse_text
from envkit.model import CallResult, HostCompiler, SystemPackage
from tests.checks.software import GPU_4090, Case, assert_case, gpus, machine, python, pythons, torch, v
from tests.checks.test_builds_and_sources import WINDOWS, listed

TORCH = machine(pythons(python(torch("2.6.0+cu124", "12.4"))))
MESSAGES = {
    "library-release-mismatch": "TypeError: Descriptors cannot not be created directly.\n",
    "extension-without-operators": "ModuleNotFoundError: No module named 'mmcv._ext'\n",
    "engine-built-elsewhere": (
        "6: The engine plan file is not compatible with this version of TensorRT, expecting library version 8.2.3 got "
        "8.2.1, please rebuild.\n"
    ),
    "not-built-for-windows": r"CUDA SETUP: Loading binary C:\py\bitsandbytes\libbitsandbytes_cuda121.so..." + "\n",
    "visual-studio-without-cuda": "CMake Error (message):\n  No CUDA toolset found.\n",
    "build-tools-missing": "error: command 'gcc' failed: No such file or directory\n",
    "compiler-too-old": "cc1plus: error: unrecognized command line option '-std=c++17'\n",
    "engine-without-cdi": "Error: stat nvidia.com/gpu=all: no such file or directory\n",
    "no-cgroups-with-rootful-engine": (
        "$ sudo docker run --gpus all ubuntu nvidia-smi\nFailed to initialize NVML: Unknown Error\nno-cgroups = true\n"
    ),
    "power-supply-overloaded": "The PC turns off when training starts; with nvidia-smi -pl 220 it stays on.\n",
    "power-reading-impossible": "| N/A   48C    P8             588W /   35W |      12MiB /   8188MiB |\n",
    "gpu-refused-in-vm": "Windows 10 guest in Proxmox: Windows has stopped this device (Code 43), GTX 1050\n",
    "mps-unreachable": "Error 805: MPS client failed to connect to the MPS control daemon or the MPS server\n",
    "repository-key-replaced": "the public key is not available: NO_PUBKEY A4B469963BF863CC\n",
}
INSTALLED = (
    "library-release-mismatch",
    "extension-without-operators",
    "engine-built-elsewhere",
    "not-built-for-windows",
    "visual-studio-without-cuda",
)
L4T = "# R{host} (release), REVISION: 1.1, GCID: 30414990, BOARD: t186ref, EABI: aarch64\n"
RUN = "docker run --runtime nvidia nvcr.io/nvidia/l4t-pytorch:r{image}.1-pth1.8-py3\n"
LOST = "OSError: libcurand.so.10: cannot open shared object file: No such file or directory\n"
OTHER = "jetson-container-of-other-release"
CASES = (
    *(Case(id, "fail", "message", parse_text(text)) for id, text in MESSAGES.items()),
    *(Case(id, "ok", "installed", TORCH) for id in INSTALLED),
    Case("not-built-for-windows", "warn", "old", machine(listed(("bitsandbytes", "0.42.0")), system__os=WINDOWS)),
    Case(
        "build-tools-missing",
        "ok",
        "gcc",
        machine(host_compilers=(HostCompiler("gcc", v("13"), "/usr/bin/gcc", True),)),
    ),
    Case(
        "compiler-too-old",
        "ok",
        "gcc",
        machine(host_compilers=(HostCompiler("gcc", v("13"), "/usr/bin/gcc", True),)),
    ),
    Case(
        "no-cgroups-with-rootful-engine",
        "ok",
        "rules",
        machine(containers__toolkit_config={"nvidia-container-cli.no-cgroups": "false"}),
    ),
    Case("engine-without-cdi", "ok", "new", machine(containers__podman=v("4.9.3"))),
    Case("engine-without-cdi", "skip", "old", machine(containers__podman=v("3.4.4"))),
    Case("power-supply-overloaded", "ok", "runs", machine(gpus=gpus(GPU_4090))),
    Case("power-reading-impossible", "ok", "true", machine(gpus=gpus(GPU_4090))),
    Case("gpu-reading-failed", "warn", "message", parse_text("    Fan Speed             : Unknown Error\n")),
    Case("gpu-reading-failed", "ok", "read", machine(gpus=gpus(GPU_4090))),
    Case("gpu-refused-in-vm", "ok", "listed", machine(gpus=gpus(GPU_4090))),
    Case("mps-unreachable", "ok", "starts", machine(driver__cuda_init=CallResult(0, "SUCCESS"))),
    Case("repository-key-replaced", "ok", "there", machine(packages=(SystemPackage("cuda-keyring", "1.1-1", "dpkg"),))),
    Case(OTHER, "fail", "other", parse_text(L4T.format(host=34) + RUN.format(image=32) + LOST), "L4T 32"),
    Case(OTHER, "warn", "no-symptom", parse_text(L4T.format(host=34) + RUN.format(image=32))),
    Case(OTHER, "ok", "same", parse_text(L4T.format(host=35) + RUN.format(image=35))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)
