"""What programs and their packages do wrong by themselves, and the symptom that every fault can explain."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Measurement
from tests.checks.software import Case, assert_case, findings, findings_of, machine, matrix

RAN = machine(measurements=(Measurement("kernel", "", passed=True),))
OWN_ERRORS = {
    "gpu-assertion-failed": "RuntimeError: CUDA error: device-side assert triggered\n",
    "gpu-illegal-memory-access": "RuntimeError: CUDA error: an illegal memory access was encountered\n",
    "tensors-on-two-devices": "RuntimeError: Expected all tensors to be on the same device, but found at least two\n",
    "half-precision-on-cpu": "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n",
    "collective-timed-out": "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)\n",
    "nccl-error-unnamed": "NCCL error in: ../c10d/ProcessGroupNCCL.cpp:1275, unhandled system error\n",
    "tensor-shapes-differ": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)\n",
    "gpu-library-call-failed": "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\n",
    "process-out-of-memory": "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.\n",
    "openmp-loaded-twice": "OMP: Error #15: Initializing libomp.dll, but found libiomp5md.dll already initialized.\n",
    "dcgm-not-reachable": "Error: Unable to connect to host engine. Host engine connection invalid/disconnected.\n",
    "half-precision-nan": "NansException: A tensor with all NaNs was produced in Unet.\n",
    "framework-sees-no-gpu": ">>> torch.cuda.is_available()\nFalse\n",
    "gpu-not-requested": "Training takes 48 hours. GPU available: True, used: False\n",
}
FAULTS = {
    "service-before-driver": "After a reboot ollama runs on the CPU; if I restart it by hand, it is on the GPU.\n",
    "model-larger-than-gpu": "load_model: CUDA out of memory. GPU 0 has a total capacity of 14.58 GiB of which 1 GiB "
    "is free. Of the allocated memory 13.32 GiB is allocated by PyTorch\n",
    "ranks-share-a-gpu": "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000\n",
    "download-failed": "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
    "framework-not-installed": "ModuleNotFoundError: No module named 'torch'\n",
    "python-externally-managed": "error: externally-managed-environment\n",
    "cuda-used-before-fork": "RuntimeError: Cannot re-initialize CUDA in forked subprocess.\n",
    "bfloat16-not-on-gpu": "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.\n",
    "mkl-too-new-for-torch": "ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent\n",
    "opencl-not-found": "GeForce GTX 960\nOpenCL: Not detected: clGetPlatformIDs() returned -1001\n",
    "driver-module-crashed": "Oops: 0000 [#1] SMP PTI\nRIP: 0010:_raw_q_schedule+0x2f/0xb0 [nvidia_uvm]\n",
    "operator-driver-beside-host": "Could not unload NVIDIA driver kernel modules, driver is in use\n",
    "installer-module-in-use": "ERROR: You appear to be running an X server; please exit X before installing.\n",
    "toolkit-root-elsewhere": 'root = "/run/nvidia/driver"\nload library failed: libnvidia-ml.so.1\n',
    "codec-not-on-gpu": "[av1_nvenc @ 0x55d0] Codec not supported\n",
    "encoder-sessions-used-up": "[h264_nvenc @ 0x5] OpenEncodeSessionEx failed: incompatible client key (21)\n",
    "vllm-memory-not-pinned": "RuntimeError: UVA is not available\n",
    "nvls-setup-failed": "transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'\n",
    "kubernetes-mig-layout": "panic: More than one MIG device type present on node\n",
    "mig-change-refused": "Unable to disable MIG Mode for GPU 00000000:3B:00.0: In use by another client\n",
    "slurm-gres-unknown": "srun: error: Unable to allocate resources: Invalid generic resource (gres) specification\n",
    "operator-driver-image-missing": "image nvcr.io/nvidia/driver:460.73.01-ubuntu21.04: not found\n",
    "passthrough-blocked": "TASK ERROR: cannot prepare PCI pass-through, IOMMU not present (NVIDIA T4)\n",
    "vgpu-not-started": "nvidia-vgpu-mgr: error: vmiop_log: (0x0): init_device_instance failed for inst 0\n",
    "windows-gpu-stopped": "GTX 1660: Windows cannot load the drivers required for this device. (Code 31)\n",
    "windows-driver-refused": "NVIDIA Installer failed\n",
    "gpu-kernel-timeout": "RuntimeError: CUDA error: the launch timed out and was terminated\n",
    "wsl-smi-crashes": "WSL 2:\n$ nvidia-smi\nSegmentation fault (core dumped)\n",
    "package-not-offered": "E: Unable to locate package nvidia-container-toolkit\n",
    "slurm-gres-misconfigured": "slurmd: fatal: gres.conf duplicate records for gpu\n",
    "container-outside-job": "In a Slurm job with --gres=gpu:1 the docker container sees all GPUs of the node\n",
    "wsl-container-toolkit-too-old": "cuInit: named symbol not found, in a docker container\n",
    "image.gpu-at-build": "Error: libcuda.so.1 is not found during docker build\n",
    "static-tls-full": "OSError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block\n",
    "source-without-submodules": "fatal error: cutlass/cutlass.h: No such file or directory\n",
    "triton-cache-stale": "triton/runtime: SystemError: PY_SSIZE_T_CLEAN macro must be defined for '#' formats\n",
    "nix-package-without-cuda": "NixOS, Sunshine with nvenc: Error: Couldn't scale frame: Invalid argument\n",
    "path-not-ascii": 'catastrophic error: cannot open source file "C:\\Users\\Zoë\\AppData\\Local\\Temp\\a.cu"\n',
    "nix-without-driver": "h264_nvenc of nixpkgs on Ubuntu: Cannot load libcuda.so.1\n",
    "container-runtime-older-than-docker": "error adding seccomp filter rule for syscall clone3: permission denied\n",
    "venv-broken": "No Python at 'C:\\Users\\admin\\anaconda3\\python.exe'\n",
    "clocks-held-low": "The GPU in my notebook is stuck at 25W under load, llama.cpp is slow\n",
    "laptop-gpu-switch-hangs": "My laptop: with the card off by bbswitch, the second lspci freezes it\n",
    "tensorrt-plugin-missing": "getPluginCreator could not find plugin BatchedNMS_TRT version 1\n",
    "prebuilt-wheel-missing": "There is no flash-attn wheel for torch 2.8, pip compiles it for hours\n",
    "gdrcopy-unusable": "gdr_open error: Is gdrdrv driver installed and loaded?\n",
    "wsl-pinned-memory-short": "WSL2: CUDA error: out of memory; with pin_memory=False it works\n",
    "wsl-gpu-support-faulty": "WSL 2: CUDA error: all CUDA-capable devices are busy or unavailable\n",
    "nccl-too-old-for-gpu": "ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856; invalid argument\n",
    "opencv-without-libgl": "ImportError: libGL.so.1: cannot open shared object file: No such file or directory\n",
}
CASES = (
    *(Case(id, "warn", "message", parse_text(text)) for id, text in OWN_ERRORS.items()),
    *(Case(id, "fail", "message", parse_text(text)) for id, text in FAULTS.items()),
    *(Case(id, "ok", "ran", RAN) for id in (*OWN_ERRORS, *FAULTS)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


def test_any_failure_explains_that_a_framework_sees_no_gpu() -> None:
    told = "torch.cuda.is_available() returns False.\n"
    alone, beside = parse_text(told), parse_text(f"{told}torch 2.4.1+cpu, RTX 3060, driver 550.90\n")
    [symptom] = findings("framework-sees-no-gpu", alone)
    assert symptom.status is Status.WARN and symptom.because_of is None
    found = run_checks(beside, matrix(), all_checks().values())
    [symptom] = [one for one in found if one.id == "framework-sees-no-gpu"]
    assert found[0].status is Status.FAIL and symptom.because_of == found[0].id


def test_a_framework_that_a_build_does_not_see_is_not_called_missing() -> None:
    text = (
        "Getting requirements to build wheel did not run successfully.\nModuleNotFoundError: No module named 'torch'\n"
    )
    assert all(one.status is not Status.FAIL for one in findings("framework-not-installed", parse_text(text)))


@pytest.mark.parametrize(
    "text",
    [
        "Why does is_available() exist? Does it return False on a Mac?\n",
        "torch.cuda.is_available() returns True, so the GPU is used\n",
        "I do not use the GPU for pytorch on purpose.\n",
    ],
)
def test_what_is_asked_or_wanted_is_no_symptom(text: str) -> None:
    assert all(one.status is not Status.WARN for one in findings("framework-sees-no-gpu", parse_text(text)))


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("failed to register layer: write /usr/local/lib/libcublas.so.12: no space left on device", "docker system df"),
        ("update-initramfs: failed\ngzip: stdout: No space left on device", "df -h /boot"),
        ("OSError: [Errno 28] No space left on device", "TMPDIR"),
    ],
)
def test_space_is_freed_where_the_message_comes_from(line: str, fix: str) -> None:
    found = next(one for one in findings_of(line) if one.id == "disk-full-at-install")
    assert found.remedy is not None and fix in "\n".join(found.remedy.commands)


def test_what_nobody_looked_at_is_no_evidence_of_a_failure() -> None:
    text = "RuntimeError: CUDA error: system not yet initialized\nNVIDIA H100 80GB HBM3\n"
    failed = [one for one in findings_of(text) if one.status is Status.FAIL]
    assert failed and all(item.value != "not-looked" for one in failed for item in one.evidence)
