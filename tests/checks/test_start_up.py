"""What stops a framework or a build before a GPU is asked, and which of two explanations comes first."""

from __future__ import annotations

import pytest

from envkit.ingest import parse_text
from envkit.model import Measurement
from tests.checks.software import GPU_4090, Case, assert_case, findings_of, gpus, machine, nvcc

RAN = (Measurement("import", "torch 2.8.0", True, 1.2, "s"),)
MESSAGES = {
    "cpu-lacks-instructions": "$ python3 -c 'import numpy'\nIllegal instruction (core dumped)\n",
    "cuda-architecture-not-chosen": "nvcc fatal   : Unsupported gpu architecture 'compute_No CUDA devices found.'\n",
    "several-toolkits-in-path": (
        '#error -- "CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths"\n'
    ),
}
IMPORTED = ("cpu-lacks-instructions",)
CASES = (
    *(Case(id, "fail", "message", parse_text(text)) for id, text in MESSAGES.items()),
    *(Case(id, "ok", "imported", machine(measurements=RAN)) for id in IMPORTED),
    Case("cuda-architecture-not-chosen", "ok", "gpu-there", machine(nvcc=nvcc("12.4"), gpus=gpus(GPU_4090))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (  # nouveau has the GPU because the other module is refused
            "modprobe: ERROR: could not insert 'nvidia': Required key not available\n"
            "[    2.1] nouveau 0000:01:00.0: NVIDIA TU106 (166000a1)\n",
            "secure-boot-unsigned-module",
        ),
        (  # the file is there, of another release
            "Could not load library libcudnn_cnn_train.so.8. Error: /usr/local/cuda/lib64/libcudnn_cnn_train.so.8: "
            "undefined symbol: _ZN5cudnn3cnn34layerNorm\n",
            "cudnn-mixed-sublibraries",
        ),
        (  # the compiler's own test file: no GPU and no framework has to do with it
            "\"CMakeCUDACompilerId.sm_30.cubin\"\n\nptxas fatal   : Value 'sm_30' is not defined for option "
            "'gpu-name'\n",
            "several-toolkits-in-path",
        ),
        (  # a variable that names a GPU, so that it is not empty
            'The script starts with "export CUDA_VISIBLE_DEVICES=2". RuntimeError: No CUDA GPUs are available\n',
            "cuda-visible-devices-invalid",
        ),
        (  # packages of two repositories, in two versions
            "akmod-nvidia-3:440.36-1.fc31.x86_64  RPM Fusion\n"
            "nvidia-driver-3:440.31-1.fc31.x86_64  negativo17.org\n"
            "Building rpms failed; see /var/cache/akmods/nvidia/440.36-1-for-5.3.12.failed.log for details\n",
            "driver-repos-mixed",
        ),
        (
            "akmod-nvidia.x86_64   3:550.90.07-1.fc40   @rpmfusion-nonfree-nvidia-driver\n"
            "nvidia-driver.x86_64  3:555.42.02-1.fc40   @cuda-fedora39-x86_64\n",
            "driver-repos-mixed",
        ),
        (  # a card that builds drop, not one that they do not know yet
            "[pip3] torch==2.7.0+cu126\nPyTorch version: 2.7.0+cu126\nCUDA used to build PyTorch: 12.6\n"
            "GPU 0: NVIDIA GeForce GTX 1080 Ti\n"
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
            "arch-dropped-by-framework",
        ),
    ],
)
def test_the_cause_comes_before_what_follows_from_it(text: str, first: str) -> None:
    assert findings_of(text)[0].id == first


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$ echo $CUDA_VISIBLE_DEVICES\n\n$ ls\n", None),  # empty or not set: the shell does not tell
        ("  CUDA_VISIBLE_DEVICES = one of the cards -> fine\n", None),
        ("$ echo $CUDA_VISIBLE_DEVICES\n0,1\n", "0,1"),
        ("run `export CUDA_VISIBLE_DEVICES=3` first\n", "3"),
        ("CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 python x.py\n", "GPU-8932f937-d72c-4106"),
    ],
)
def test_a_list_of_devices_is_read_where_it_is_one(text: str, value: str | None) -> None:
    variables = parse_text(text).variables
    seen = variables.get().get("CUDA_VISIBLE_DEVICES") if variables.known else None
    assert seen is None if value is None else (seen or "").startswith(value)
