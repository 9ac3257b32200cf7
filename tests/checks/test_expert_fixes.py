"""Fixes that an expert would give: what keeps the rest of a machine working, and not the nearest words."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from tests.checks.software import findings_of

_MISSING = "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-50-generic\n"
_ON = "$ mokutil --sb-state\nSecureBoot enabled\n"
_DKMS = "$ uname -r\n6.8.0-50-generic\n$ dkms status\nnvidia/550.120, 6.8.0-49-generic, x86_64: installed\n"
_FAILS = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
_CUDNN_8 = "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object"
_PACKAGES = "$ pip list\nPackage Version\n------- -------\n"
_802 = "Error 802: system not yet initialized\nHGX A100\nUnit nvidia-fabricmanager.service could not be found.\n"


def _fault(text: str, check: str) -> Finding | None:
    return next((one for one in findings_of(text) if one.id == check and one.status is Status.FAIL), None)


def _words(text: str, check: str) -> str:
    found = _fault(text, check)
    assert found is not None and found.remedy is not None, text
    return f"{found.title} {found.remedy.advice} {' '.join(found.remedy.commands)}"


@pytest.mark.parametrize("text", [_ON + _MISSING + _FAILS, _ON + _DKMS + _FAILS, f"{_ON}{_DKMS}{_FAILS}{_MISSING}"])
def test_secure_boot_rejects_no_module_that_is_not_there(text: str) -> None:
    assert _fault(text, "secure-boot-unsigned-module") is None
    assert _fault(text, "module-missing-for-running-kernel") is not None


@pytest.mark.parametrize(
    "text",
    [_ON + _FAILS, f"{_ON}{_MISSING}modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"],
)
def test_secure_boot_is_told_where_a_module_may_be_or_was_rejected(text: str) -> None:
    assert _fault(text, "secure-boot-unsigned-module") is not None


@pytest.mark.parametrize(
    ("card", "driver", "said", "unsaid"),
    [
        ("Tesla K80", "470.199.02", "Keep this driver: 470", "newer driver branch"),
        ("GeForce RTX 3090", "470.199.02", "newer driver branch", "Keep this driver: 470"),
    ],
)
def test_a_card_whose_last_driver_is_installed_keeps_it(card: str, driver: str, said: str, unsaid: str) -> None:
    text = f"{card}\nDriver Version: {driver}  CUDA Version: 11.4\n$ pip list | grep torch\ntorch 2.1.0+cu121\n"
    found = _fault(text, "driver-too-old-for-runtime")
    assert found is not None and found.remedy is not None
    words = f"{found.remedy.advice} {' '.join(found.remedy.commands)}"
    assert said in words and unsaid not in words and "torch==2.1.0" in words and "cu118" in words
    assert ("cuda-compat" in found.impact) is False


def test_a_build_is_chosen_for_the_driver_that_has_to_come() -> None:
    text = "Tesla K80, driver 525.105.17: nvidia-smi shows No devices were found. torch 2.1.0+cu121\n"
    words = _words(text, "arch-dropped-by-framework")
    assert "torch==2.1.0" in words and "cu118" in words


@pytest.mark.parametrize(
    ("torch", "numpy", "fails"),
    [("1.13.1", "2.1.0", True), ("2.2.2", "2.0.1", True), ("1.13.1", "1.26.4", False), ("2.6.0", "2.1.0", False)],
)
def test_numpy_is_judged_for_a_release_whose_build_is_not_told(torch: str, numpy: str, fails: bool) -> None:
    text = f"{_PACKAGES}numpy   {numpy}\ntorch   {torch}\n"
    assert (_fault(text, "numpy2-abi") is not None) is fails


@pytest.mark.parametrize(
    "line",
    [
        "ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
    ],
)
def test_infiniband_gets_its_own_settings(line: str) -> None:
    words = _words(f"{line}\n", "nccl-wrong-interface")
    assert "NCCL_IB_GID_INDEX" in words and "export NCCL_SOCKET_IFNAME" not in words


def test_sockets_keep_theirs() -> None:
    words = _words("NCCL WARN Bootstrap : no socket interface found\n", "nccl-wrong-interface")
    assert "export NCCL_SOCKET_IFNAME" in words and "NCCL_IB_GID_INDEX" not in words


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("Driver Version: 550.127.05  CUDA Version: 12.4\n", "nvidia-fabricmanager-550=550.127.05-"),
        ("", "/sys/module/nvidia/version"),
    ],
)
def test_a_fabric_manager_that_is_missing_is_installed(more: str, said: str) -> None:
    assert said in _words(_802 + more, "fabric-manager-not-running")


@pytest.mark.parametrize(
    ("packages", "said", "unsaid"),
    [
        ("ctranslate2 4.4.0\ntorch 2.5.1\n", "ctranslate2>=4.5", "nvidia-cudnn-cu12==8"),
        ("faster-whisper 1.0.3\ntorch 2.4.1\n", "ctranslate2>=4.5", "nvidia-cudnn-cu12==8"),
        ("ctranslate2 4.4.0\ntorch 2.3.1\n", "nvidia-cudnn-cu12==8", "ctranslate2>=4.5"),
        ("onnxruntime-gpu 1.17.0\ntorch 2.5.1\n", "nvidia-cudnn-cu12==8", "ctranslate2>=4.5"),
    ],
)
def test_the_cudnn_of_a_torch_stays(packages: str, said: str, unsaid: str) -> None:
    words = _words(f"{_PACKAGES}{packages}\n{_CUDNN_8}\n", "cudnn-missing")
    assert said in words and unsaid not in words
    if "torch 2.5" in packages and "nvidia-cudnn" in words:
        assert "--target" in words  # apart from the cuDNN 9 of that torch
