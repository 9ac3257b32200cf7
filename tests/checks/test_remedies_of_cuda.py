"""Fixes of CUDA's libraries and compilers that say all that the reporter needs."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix

_NO_FILE = "OSError: {}: cannot open shared object file: No such file or directory\n"
_DLL = "ImportError: Could not find 'cudart64_90.dll'. TensorFlow requires that this DLL be installed in %PATH%\n"


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "pip3 install mxnet-cu101\n" + _NO_FILE.format("libnccl.so.2"),
            ["nvidia-nccl-cu11", "export LD_LIBRARY_PATH"],
            ["its own environment"],
        ),
        (
            "pip install mxnet-cu112\n" + _NO_FILE.format("libcusolver.so.11"),
            ["nvidia-cusolver-cu11", "nvidia-cufft-cu11", "nvidia-cudnn-cu11==8.*"],
            [],
        ),
        (
            "pip install mxnet-cu101mkl\n" + _NO_FILE.format("libcudart.so.10.1"),
            ["mxnet-cu101 has 10.1", "envkit install --cuda 10.1"],
            [],
        ),
        (
            'File "/usr/lib/python3.7/site-packages/mxnet/base.py", line 204\n'
            + _NO_FILE.format("libcudart.so.10.0")
            + "$ pacman -Q mxnet cuda\nmxnet 1.4.0-1.1\ncuda 10.1.105-6\n",
            ["sudo pacman -Syu", "/var/cache/pacman/pkg"],
            ["envkit install"],
        ),
        (
            "export LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64\n" + _NO_FILE.format("libcublas.so.10"),
            ["find /usr/local /usr/lib -name 'libcublas.so.10'", "ldconfig"],
            ["envkit install"],
        ),
        (_DLL, ["v9.0\\bin", "cudnn64_7.dll", "cuda-toolkit-archive"], ["pip install"]),
        (
            "bitsandbytes on Windows 11: CUDA_SETUP: WARNING! libcudart.so not found in any environmental path.\n",
            ["bitsandbytes>=0.43.0"],
            ["No wheel"],
        ),
        (
            "cupy-cuda111 9.6.0\n/usr/local/cuda/lib64/libnvrtc.so.11.5.119\n"
            'File "/home/u/.local/lib/python3.8/site-packages/cupy/__init__.py", line 18, in <module>\n'
            + _NO_FILE.format("libnvrtc.so.11.1"),
            ["install cupy-cuda11x==", "uninstall -y cupy"],
            ["nvidia-cuda-nvrtc-cu11"],
        ),
        (
            "poetry install with torch ^2.0: import torch ends in OSError: libcurand.so.10 cannot be opened\n",
            ["poetry show torch", "poetry add torch=="],
            ["No wheel"],
        ),
        (
            "onnxruntime lists the provider, but: Failed to create CUDAExecutionProvider. Ubuntu 20.04\n",
            ["libonnxruntime_providers_cuda.so", "--cuda 11.8 --cudnn 8"],
            ["No wheel"],
        ),
    ],
)
def test_a_library_comes_the_way_that_its_program_calls_for(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "libcudart-missing", parts, without)
