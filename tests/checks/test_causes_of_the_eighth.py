"""The kinds of causes that batch 32 missed or named wrongly: on other machines, in other words, and what is none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.remedies_given import REPORTS
from tests.checks.software import findings_of
from tests.checks.test_remedies_suited import told

_DRIVERLESS = "RuntimeError: Found no NVIDIA driver on your system."
_ARCHS = (
    "$ nvcc --list-gpu-arch\ncompute_75\ncompute_80\ncompute_86\n\n$ nvidia-smi --query-gpu=compute_cap --format=csv\n"
)
_NCCL = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
_WHEEL = "pip install torch==2.1.0 --extra-index-url https://mirror.example/whl/cpu\n  Downloading torch-2.1.0"
_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"


def first_failure(text: str) -> str:
    return next((each.id for each in findings_of(text) if each.status is Status.FAIL), "")


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("nvcc-too-old-for-gpu", "nvcc fatal   : Unsupported gpu architecture 'native'\nGeForce RTX 2080, V11.3.109"),
        ("nvcc-too-old-for-gpu", f"{_ARCHS}compute_cap\n12.0\nbuild.rs panics"),
        ("nvcc-too-old-for-gpu", "nvcc cannot target gpu arch 120. Available nvcc targets are [50, 75, 86, 90]."),
        ("image-needs-newer-driver", "nvidia-docker | Error: unsupported CUDA version: 8.0 < 7.5"),
        ("geforce-p2p-hang", "4 x RTX 3090, train with DDP: everything stalls and all cards show 100 % utilization"),
        ("geforce-p2p-hang", "训练在 4 张 RTX 3090 上随机卡住，所有 GPU 利用率一直 100%"),
        ("docker-no-nvidia-runtime", "device plugin, containerd 1.7, runc: unable to find libnvidia-ml.so.1"),
        ("conda-sees-no-gpu", "pixi: the CUDA virtual package could not be found on the CI runner"),
        ("conda-sees-no-gpu", "micromamba create in docker build: __cuda isn't detected"),
        (
            "driver-module-not-loaded",
            "nvidia: x86/modules: Skipping invalid relocation target, existing value is nonzero",
        ),
        ("vgpu-unlicensed", "Tesla T4 vGPU is throttled to 3 fps after 20 minutes, the evaluation is over"),
        ("driver-repos-mixed", "akmod-nvidia is still at 570.124.06 in RPM Fusion, the CUDA repo is at 570.133.07"),
        ("package-index-wrong", f"{_WHEEL}-cp310-cp310-manylinux1_x86_64.whl (670.2 MB)"),
        ("python-no-wheel", "Python 3.12: No matching distribution found for torch==2.0.1+cu118"),
        ("shm-too-small", f"docker compose, vllm with tensor-parallel-size 2: {_NCCL}"),
        ("build-out-of-memory", "Command '['cmake', '--build', '.', '-j=96', '-t']' returned non-zero exit status 1."),
        ("arch-dropped-by-framework", "Tesla K80, set(CUDA_ARCH -arch=sm_60): invalid device function"),
        ("power-supply-overloaded", "The whole machine goes down when training on the RTX 3090"),
        ("thermal-throttle", "RTX 3090 beside a Radeon iGPU: training gets slow, the RTX is at 95 C and throttles"),
        ("driver-not-installed", f"AMD Ryzen 5 5600, RTX 3060, Ubuntu. {_DRIVERLESS}"),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    assert first_failure(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        f"{_ARCHS}compute_cap\n8.6",
        "Both my RTX 4090 show 100% utilization in training, all is well.",
        "the device plugin on containerd starts, NVML was loaded, 2 GPUs are registered",
        "conda info lists the virtual package __cuda=12.4=0, all is fine",
        "vboxdrv: x86/modules: Skipping invalid relocation target, existing value is nonzero for type 1",
        "P40 passed through, it runs at 60 °C and is not throttled",
        "nvidia-driver-570 is at 570.124.06, all from one package repository",
        f"{_WHEEL}+cpu-cp310-cp310-linux_x86_64.whl (184.9 MB)",
        f"bare metal, 4 GPUs: {_NCCL}",
        "Command '['cmake', '--build', '.', '-j=4', '-t']' returned non-zero exit status 1.",
        "RTX 2080, Makefile with -arch=sm_75, it works",
        "The PC goes down for suspend on the RTX 3060 after the training is finished",
        f"Radeon RX 7900 XTX, Ubuntu 24.04. {_DRIVERLESS}",
        f"My GPU is an RTX 6800 XT, Ubuntu 22.04. {_DRIVERLESS}",
        "RTX 9070 XT: Torch not compiled with CUDA enabled",
        "RX 6800 XT: the clock drops to 800 MHz at 95 C, amdgpu, ROCm 6.0, training is slow",
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert first_failure(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "nvcc fatal   : Something new",
        "make: *** [Makefile:171: x.o] Error 1",
        "the nvidia module isn't loaded",
    ],
)
def test_a_build_that_stopped_is_not_called_healthy(text: str) -> None:
    from envkit.checks.engine.messages import complained
    from envkit.ingest import parse_text

    assert complained(parse_text(text))


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("14", "driver-library-mismatch", ["/run/opengl-driver/lib", "nixGL"], ["modprobe", "fuser"]),
        ("15", "driver-library-mismatch", ["545.29.02", "/run/opengl-driver/lib"], ["modprobe", "fuser"]),
        ("25", "driver-module-not-loaded", ["distcc", "/proc/version"], ["modprobe"]),
        ("27", "conda-sees-no-gpu", ["CONDA_OVERRIDE_CUDA", "pixi install"], ["system-requirements add"]),
        ("28", "package-index-wrong", ["3.6", "--index-url in place of --extra-index-url"], []),
        ("29", "nvcc-too-old-for-gpu", ["sm_61", "grep -rn native"], ["envkit install"]),
        ("38", "no-gpu-on-pci", ["torch.version.hip"], ["uninstall"]),
        ("44", "arch-dropped-by-framework", ["sm_50", "does not override"], ["CMAKE_CUDA_ARCHITECTURES=native"]),
        ("45", "docker-no-nvidia-runtime", ["--set-as-default"], ["apt-get"]),
        ("46", "driver-repos-mixed", ["580.105", "zypper addlock"], ["zypper verify"]),
    ],
)
def test_the_fix_is_that_of_the_machine(report: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told((REPORTS / f"batch-32/b32-{report}.txt").read_text(), check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []


def test_a_mismatch_after_a_new_generation_is_no_matter_of_a_shell() -> None:
    assert "opengl-driver" not in told(f"After nixos-rebuild switch: {_MISMATCH}", "driver-library-mismatch").advice
