"""The fix for reports whose fix did not work in the twelfth reading, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix, said
from tests.checks.remedies_given import REPORTS


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("40/b40-02", "uvm-module-not-loaded", ["creates /dev/nvidia-uvm", "blacklists"], []),
        ("40/b40-05", "python-no-wheel", ["no package spconv-cu128", "pip install spconv-cu126"], ["a Python that"]),
        ("40/b40-09", "cudnn-missing", ["site-packages/nvidia/cudnn/lib:", "LD_LIBRARY_PATH"], ["pip install", "cu12"]),
        ("40/b40-13", "arch-newer-than-build", [r"runtime\python.exe -m pip", "WEIGHTS_ONLY_LOAD"], ["python -m pip"]),
        ("40/b40-15", "extension-abi-mismatch", ["torch==2.0.1+cu118", "torchvision==0.15.2+cu118"], ["xformers=="]),
        (
            "40/b40-17",
            "tf-cannot-dlopen",
            ["--cuda 11.8 --cudnn 8.9", "LD_LIBRARY_PATH"],
            ["as wheels.", "pip install"],
        ),
        ("40/b40-18", "libdevice-not-found", ["export XLA_FLAGS=", "nvidia.cuda_nvcc"], []),
        ("40/b40-19", "cpu-only-wheel", ["preload_dlls()", 'export LD_LIBRARY_PATH="'], []),
        ("40/b40-20", "build-tools-missing", ["install -y g++", "--cuda 12.1", "pip install ninja"], []),
        ("40/b40-22", "cpu-only-wheel", [r"installer_files\env\python.exe"], [r"venv\Scripts"]),
        ("40/b40-27", "no-gpu-on-pci", ["driver: nvidia", "without the request"], ["CPU builds"]),
        ("40/b40-28", "windows-paging-file-small", ["most free space", "twice the file"], []),
        ("40/b40-29", "ptxas-missing-or-old", ["TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"], ["XLA_FLAGS", "cu12"]),
        ("40/b40-31", "image-needs-newer-driver", ["allowedCudaVersions", "image_id"], ["nvidia-smi", "Ubuntu"]),
        ("40/b40-32", "cuda-visible-devices-empty", ["accelerators: NAME:1", "sky exec"], ["unset, unless"]),
        ("40/b40-36", "slurm-gres-unknown", ["AutoDetect=nvml", "scontrol reconfigure", "Soperator"], ["at most"]),
        ("40/b40-40", "cpu-only-wheel", ["--index-url", "pip uninstall -y torch"], ["Find out why"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)


_FOUND_NONE = "ERROR: No matching distribution found for {}\nPython 3.10.16\nUbuntu 22.04\n"
_CUDNN_8 = (
    "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: "
    "No such file or directory\nUbuntu 22.04, faster-whisper 0.6.0\n"
)
_SM_120 = (
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    "Windows 11\n"
)
_XFORMERS = (
    "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
    "    PyTorch 2.0.1+cu118 with CUDA 1108 (you have {})\n    Python  3.8.16 (you have 3.8.13)\n"
)
_NO_GPU = "The laptop has an Intel Core Ultra with the graphics in the processor, nothing else.\n"
_NO_ADAPTER = "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found\n"
_PTXAS = "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n"
_HALF = "RuntimeError: \"slow_conv2d_cpu\" not implemented for 'Half'\n"
_LIBDEVICE = "INTERNAL: libdevice not found at ./libdevice.10.bc\n"
_NINJA = "RuntimeError: Ninja is required to load C++ extensions\nPyTorch: 2.4.0+cu121\n"
_NONE_VISIBLE = "CUDA_VISIBLE_DEVICES=\nRuntimeError: No CUDA GPUs are available\n"
_REFUSED = "srun: error: Unable to allocate resources: Requested node configuration is not available\n$ srun --gpus=1\n"
_CUDA_128 = (
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer "
    "version, or use an earlier cuda container: unknown\n"
)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (_FOUND_NONE.format("spconv-cu129"), "python-no-wheel", ["pip install spconv-cu126"], []),
        (_FOUND_NONE.format("spconv-cu120"), "python-no-wheel", ["a Python that"], ["spconv-cu118"]),  # it exists
        (_FOUND_NONE.format("spconv-cu130"), "python-no-wheel", ["a Python that"], ["spconv-cu126"]),  # another major
        (
            f"{_CUDNN_8}/opt/v/lib/python3.10/site-packages/nvidia/cudnn/lib/libcudnn_cnn_infer.so.8\n",
            "cudnn-missing",
            ["/opt/v/lib/python3.10/site-packages/nvidia/cudnn/lib:"],
            ["pip install"],
        ),
        (
            f"{_CUDNN_8}/opt/v/lib/python3.10/site-packages/nvidia/cudnn/lib/libcudnn_ops.so.9\n",
            "cudnn-missing",
            [],
            ["/opt/v/lib/python3.10/site-packages/nvidia/cudnn/lib:"],  # cuDNN 9 does not help
        ),
        (f"{_SM_120}D:\\RVC>runtime\\python.exe infer.py\n", "arch-newer-than-build", [r"runtime\python.exe -m"], []),
        (f"{_SM_120}.NET runtime is installed\n", "arch-newer-than-build", ["python -m pip"], [r"runtime\python"]),
        (_XFORMERS.format("2.0.1+cu117"), "extension-abi-mismatch", ["torch==2.0.1+cu118"], ["xformers=="]),
        (_XFORMERS.format("2.0.0"), "extension-abi-mismatch", ["xformers=="], ["torch==2.0.1"]),
        (_NO_GPU + _NO_ADAPTER, "no-gpu-on-pci", ["without the request"], ["docker compose up"]),
        (f"{_NO_GPU}torch.cuda.is_available() is False on NVIDIA\n", "no-gpu-on-pci", ["CPU builds"], ["Compose"]),
        (f"{_PTXAS}PTXASError: PTXAS error\n", "ptxas-missing-or-old", ["TRITON_PTXAS_PATH"], ["XLA_FLAGS"]),
        (f"jax 0.4.30\n{_PTXAS}", "ptxas-missing-or-old", [], ["TRITON_PTXAS_PATH"]),
        (f"{_HALF}My PC (Windows 11, RTX 3060)\n\npip install torch\n", "cpu-only-wheel", ["--index-url"], []),
        (
            f"{_HALF}My PC (Ubuntu 22.04, RTX 3060)\n\npip install torch\n",
            "half-precision-on-cpu",
            ["Find out why"],
            ["uninstall"],
        ),
        (
            f"{_HALF}My PC (Windows 11, RTX 3060)\n\npip install torch --index-url https://download.pytorch.org/whl/cu118\n",
            "half-precision-on-cpu",
            ["Find out why"],
            ["uninstall"],
        ),
        (f"TensorFlow 2.15.0, Ubuntu 22.04\n{_LIBDEVICE}", "libdevice-not-found", ["export XLA_FLAGS="], []),
        (f"jax 0.4.30, Ubuntu 22.04\n{_LIBDEVICE}", "libdevice-not-found", [], ["export XLA_FLAGS="]),
        (_NINJA, "build-tools-missing", ["pip install ninja"], ["g++"]),
        (f"{_NINJA}Image: python:3.11.4-slim\n", "build-tools-missing", ["install -y g++", "--cuda 12.1"], []),
        (_NONE_VISIBLE, "cuda-visible-devices-empty", ["unset CUDA_VISIBLE_DEVICES"], ["SkyPilot"]),
        (f"$ sky exec c t.yaml\n{_NONE_VISIBLE}", "cuda-visible-devices-empty", ["accelerators"], []),
        (_REFUSED, "slurm-gres-unknown", ["sinfo"], ["slurmd -G"]),
        (f"{_REFUSED}   Gres=(null)\n", "slurm-gres-unknown", ["slurmd -G"], ["sinfo -o"]),
        (f"My server, Ubuntu 22.04\n{_CUDA_128}", "image-needs-newer-driver", [], ["allowedCudaVersions"]),
    ],
)
def test_the_class_beside_it(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)


def test_a_system_that_the_first_cuda_lists_gets_that_one() -> None:
    text = (REPORTS / "batch-40/b40-17.txt").read_text("utf-8").replace("Ubuntu 22.04", "Ubuntu 20.04")
    words = said(text, "tf-cannot-dlopen")
    assert "--cuda 11.2 --cudnn 8.1" in words
    assert "11.8" not in words
