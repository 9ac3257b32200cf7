"""The fix for reports whose fix was judged not to work in the ninth reading, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.tables.drivers import DriverKernel
from envkit.tables.findings import ReleaseFix, RemedyStep, Signature
from envkit.tables.loader import read
from tests.checks.fix_said import assert_fix
from tests.checks.remedies_given import REPORTS


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("25/b25-23", "dkms-build-failed", ["6.11.1-arch1-1", "ccache -C"], ["newer driver", "apt-get"]),
        ("25/b25-43", "dkms-build-failed", ["6.18", "nvidia-driver-595-open", "dkms status"], ["Read the end"]),
        ("33/b33-03", "dkms-build-failed", ["580.142", "6.19"], ["no longer supports"]),
        ("34/b34-42", "dkms-build-failed", ["6.1.75", "550.163.01"], ["newer than it"]),
        ("34/b34-45", "dkms-build-failed", ["340 is the last branch"], ["newer driver branch"]),
        ("35/b35-34", "dkms-build-failed", ["4.14", "390.157"], ["apt-get"]),
        ("36/b36-02", "dkms-build-failed", ["vGPU", "/var/log/nvidia-installer.log"], ["/var/lib/dkms"]),
        ("36/b36-39", "dkms-build-failed", ["kernel 6.12", "575.64.05", "xbps"], ["make.log"]),
        ("36/b36-40", "dkms-build-failed", ["390.157", "its sources do not fit it"], ["make.log"]),
        ("32/b32-24", "dkms-build-failed", ["mainline", "linux-generic"], ["nvidia-driver-470"]),
        ("35/b35-13", "extension-abi-mismatch", ["torch-1.4.0+cu101.html", "--no-index"], ["--no-binary"]),
        ("36/b36-15", "extension-abi-mismatch", ["CUDA 10.1", "--no-cache-dir", "torch-1.7.1+cu110"], []),
        (
            "35/b35-26",
            "extension-abi-mismatch",
            ["torch2.3", "mamba-ssm==2.2.4"],
            ["without --no-build-isolation, pip"],
        ),
        ("33/b33-45", "extension-abi-mismatch", ["vllm==0.2.1.post1", "import vllm"], []),
        ("36/b36-25", "extension-abi-mismatch", ["torch==2.6.0", "sgl-kernel==0.0.8"], []),
        ("36/b36-35", "extension-abi-mismatch", ["exllamav2 0.0.19, which worked"], []),
        ("36/b36-17", "extension-without-operators", ["mmcv-full==1.3.0", "--no-cache-dir", "import mmcv.ops"], []),
        ("36/b36-18", "extension-without-operators", ["uninstall -y mmcv mmcv-full", "mmcv-full==1.4.0"], []),
        ("36/b36-19", "not-built-for-windows", ["uninstall -y triton triton-library", "torch 2.6"], []),
        ("36/b36-26", "shm-too-small", ["emptyDir", "kubectl exec"], ["docker run"]),
        ("36/b36-30", "jetson-generic-wheel", ["v0.20.0", "FORCE_CUDA=1"], ["l4t-pytorch"]),
        ("36/b36-37", "libcudart-missing", ["is installed and contains", "LD_LIBRARY_PATH"], ["install nvidia-cublas"]),
        ("26/b26-38", "libcudart-missing", ["sys_platform == 'win32'", "uv lock"], ["uv add"]),
        ("36/b36-06", "cudnn-missing", ["libcudnn.so.6.5", "cudnn-6.5-linux-x64-v2.tgz"], ["ln -sf"]),
        ("33/b33-09", "tf-cannot-dlopen", ["opens libcudnn.so"], ["as wheels"]),
        ("36/b36-14", "toolkit-dropped-arch", ["-DCUDA_ARCH_BIN='2.0;2.1;3.0;3.5'"], ["that old,."]),
        ("36/b36-28", "docker-no-nvidia-runtime", ["--runtime=nvidia"], ["apt-get"]),
        ("29/b29-20", "container-no-gpu-injected", ["podman-compose up -d", "nvidia.com/gpu=all"], ["docker compose"]),
        ("26/b26-41", "docker-no-nvidia-runtime", ["daemon.json stays as it is"], ["--runtime=containerd"]),
        ("30/b30-14", "libcudart-missing", ["onnxruntime-gpu[cuda,cudnn]==", "preload_dlls"], ["--target"]),
        ("30/b30-06", "cudnn-older-than-build", ["cudnn=7.6"], []),
        ("29/b29-30", "python-no-wheel", ["for Linux only", "WSL 2"], ["Create an environment"]),
        ("26/b26-30", "torchvision-mismatch", ["%%bash", '"torch==$TORCH"'], ["pip show"]),
        ("27/b27-48", "jetson-container-of-other-release", ["dustynv/l4t-pytorch:r36.2.0"], ["pytorch:r36.4.0"]),
        ("28/b28-37", "wsl-libcuda-missing", ["preview build"], ["pack /usr/lib/wsl/lib"]),
        ("31/b31-04", "driver-library-mismatch", ["apt-mark hold"], []),
        ("25/b25-19", "library-release-mismatch", ["causal-conv1d==1.1.1"], ["same period"]),
        ("29/b29-49", "library-release-mismatch", ["uninstall -y protobuf"], ["same period"]),
        ("33/b33-33", "library-release-mismatch", ["#include <thrust/sequence.h>"], ["pip check"]),
        ("35/b35-24", "library-release-mismatch", ["--framework jax"], ["same period"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)


_FAILED = (
    "Error! Bad return status for module build on kernel: {} (x86_64)\nConsult /var/lib/dkms/nvidia/{}/build/make.log"
)
_NMS = "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend."
_SHM = "NCCL WARN Error: failed to extend /dev/shm/nccl-Ab12 to 9637892 bytes, error: No space left on device (28)\n"


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            _FAILED.format("6.15.2", "570.133.07"),
            "dkms-build-failed",
            ["575.64.05", "make.log"],
            ["sources do not fit"],
        ),
        (  # the newest release that the table has: nothing newer is known
            _FAILED.format("7.2.0", "595.58.03"),
            "dkms-build-failed",
            ["newest release"],
            ["or newer, which is built"],
        ),
        (  # the last branch for its GPUs
            _FAILED.format("6.12.1", "470.256.02"),
            "dkms-build-failed",
            ["last branch for Kepler"],
            ["550"],
        ),
        (  # the branch that fits has to have the GPU
            f"GPU: GeForce GTX 1080\n{_FAILED.format('6.19.3', '550.163.01')}",
            "dkms-build-failed",
            ["580.142"],
            ["595"],
        ),
        (f"{_SHM}docker run --gpus all IMAGE\n", "shm-too-small", ["--shm-size"], ["emptyDir"]),
        (f"{_SHM}The runners are on Kubernetes now.\n", "shm-too-small", ["emptyDir"], ["docker run"]),
        (  # torch is a build of the package index too
            f"Jetson Orin Nano, JetPack 6\n{_NMS}\ntorch 2.5.0\ntorchvision 0.20.0\n",
            "jetson-generic-wheel",
            ["l4t-pytorch"],
            ["FORCE_CUDA"],
        ),
        (  # one library is missing of several that are there
            "OSError: libcublasLt.so.12: cannot open shared object file: No such file or directory\n"
            "nvidia-cuda-runtime-cu12 12.4.127\ntorch 2.6.0\n",
            "libcudart-missing",
            ["install nvidia-cublas-cu12"],
            ["is installed and contains"],
        ),
        (
            "ModuleNotFoundError: No module named 'triton'\nWindows 11, torch 2.1.0+cu121\n",
            "not-built-for-windows",
            ["has no series for torch 2.1.0"],
            ["pip install -U"],
        ),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_11'\nCUDA 7.0, Makefile.config of Caffe\n",
            "toolkit-dropped-arch",
            ["CUDA_ARCH"],
            ["OpenCV's list", "that old,."],
        ),
        (
            "AttributeError: module 'numpy' has no attribute 'bool'\n",
            "library-release-mismatch",
            ["numpy<1.24"],
            ["same period"],
        ),
    ],
)
def test_what_is_near(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)


def test_a_detail_in_the_same_line_proves_nothing() -> None:
    text = (REPORTS / "batch-34/b34-45.txt").read_text("utf-8")
    from tests.checks.software import findings_of

    found = next(one for one in findings_of(text) if one.id == "dkms-build-failed")
    assert found.confidence is not None and found.confidence.value == "likely"


def test_the_rows_name_messages_and_commands_that_exist() -> None:
    signatures = {row.signature for row in read(Signature)}
    actions = {row.action for row in read(RemedyStep)}
    assert "library-release-mismatch" in all_checks()
    for row in read(ReleaseFix):
        assert f"library-release-mismatch/{row.signature}" in signatures, row.signature
        assert row.action in ("", *actions), row.action
        assert row.requires or row.action or row.advice


def test_newer_releases_are_for_newer_kernels() -> None:
    rows = read(DriverKernel)
    assert list(rows) == sorted(rows, key=lambda row: row.driver)
