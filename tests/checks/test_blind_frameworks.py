"""A framework that prints that it sees no GPU is never called fine, and what hides the GPU is named."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from tests.checks.software import findings_of

_GPU = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-8a56b7a6-1111-2222-3333-abcdefabcdef)\n"
_ONE = '$ python -c "import torch; print(torch.cuda.is_available())"\n'
_TWO = '$ python -c "import torch; print(torch.__version__); print(torch.cuda.is_available())"\n2.3.0+cu121\n'
_REPL = ">>> import torch, os\n>>> os.environ[\"CUDA_VISIBLE_DEVICES\"]\n'-1'\n>>> torch.cuda.is_available()\nFalse\n"
_TF = (
    "$ python -c \"import tensorflow as tf; print(tf.__version__); print(tf.config.list_physical_devices('GPU'))\"\n"
    "2.17.0\n"
)
_COLLECTED = (
    "PyTorch version: 2.5.1+cu124\nIs debug build: False\nCUDA used to build PyTorch: 12.4\n"
    "OS: Ubuntu 22.04.4 LTS (x86_64)\nIs CUDA available: {}\n"
    "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090\nNvidia driver version: 550.120\n"
)
_ROCM = "PyTorch version: 2.4.1+rocm6.1\nROCM used to build PyTorch: 6.1.40091\nIs CUDA available: {}\n"
_KFD = "$ groups\nuser\n$ ls -l /dev/kfd\ncrw-rw---- 1 root render 234, 0 Jun  1 10:00 /dev/kfd\n"


def _faults(text: str) -> list[Finding]:
    return [one for one in findings_of(text) if one.status in (Status.FAIL, Status.WARN)]


def _ids(text: str) -> list[str]:
    return [one.id for one in _faults(text) if not one.because_of]


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("cuda-visible-devices-empty", f"$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=-1\n{_ONE}False\n{_GPU}"),
        ("cuda-visible-devices-empty", f"$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=\n{_TWO}False\n{_GPU}"),
        ("cuda-visible-devices-empty", f"$ echo $CUDA_VISIBLE_DEVICES\n-1\n{_TWO}False\n{_GPU}"),
        ("cuda-visible-devices-empty", f"{_REPL}{_GPU}"),
        (
            "cuda-visible-devices-empty",
            f"$ CUDA_VISIBLE_DEVICES=-1 python train.py\nRuntimeError: No CUDA GPUs are available\n{_GPU}",
        ),
        ("cuda-visible-devices-invalid", f"$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=3\n{_ONE}False\n{_GPU}"),
    ],
)
def test_the_variable_that_hides_the_gpu_is_named(cause: str, text: str) -> None:
    assert _ids(text) == [cause]


@pytest.mark.parametrize(
    "text",
    [
        f"{_TWO}False\n{_GPU}",
        f"{_TF}[]\n{_GPU}",
        _COLLECTED.format(False),
        f"In [1]: import torch\nIn [2]: torch.cuda.is_available()\nOut[2]: False\n{_GPU}",
        f"In [1]: import torch\nIn [2]: torch.cuda.device_count()\nOut[2]: 0\n{_GPU}",
        f"CUDA: False\nPyTorch 2.3.0+cu121\n{_GPU}",
        f"$ python3 test.py\nCUDA available: False\nDevice: cpu\n{_GPU}",
    ],
)
def test_a_printed_answer_that_no_gpu_is_seen_is_never_fine(text: str) -> None:
    assert _ids(text) == ["framework-sees-no-gpu"]


@pytest.mark.parametrize(
    "text",
    [
        f"{_TWO}True\n{_GPU}",
        f"{_TF}[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\n{_GPU}",
        _COLLECTED.format(True),
        f"In [1]: import torch\nIn [2]: torch.cuda.device_count()\nOut[2]: 1\n{_GPU}",
        f"In [1]: import torch\nIn [2]: torch.cuda.is_available()\nOut[2]: True\n{_GPU}",
        f"$ CUDA_VISIBLE_DEVICES=-1 python train.py --device cpu\nepoch 1 loss 0.31\n{_GPU}",
        f"$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=0\n{_ONE}True\n{_GPU}",
        f"$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=-1\n{_GPU}",
        '$ python -c "import torch; print(torch.cuda.is_available()); print(torch.backends.mps.is_available())"\n'
        f"True\nFalse\n{_GPU}",
        _ROCM.format(True),
    ],
)
def test_what_sees_its_gpu_is_fine(text: str) -> None:
    assert _ids(text) == []


@pytest.mark.parametrize("text", [_ROCM.format(False), _ROCM.format(False) + _KFD])
def test_a_build_for_rocm_that_sees_no_gpu_is_told_where_to_look(text: str) -> None:
    [found] = _faults(text)
    assert found.id == "no-gpu-on-pci" and found.remedy is not None
    assert "/dev/kfd" in found.remedy.advice
