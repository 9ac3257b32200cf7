"""Does the installed build run on the GPU: architectures, CPU builds, plug-ins."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import MachineKind, Message, OsRelease
from envkit.tables import Matrix
from tests.checks.software import (
    GPU_1080,
    GPU_4090,
    GPU_5090,
    GPU_A100,
    Case,
    assert_case,
    dist,
    findings,
    framework,
    gpus,
    machine,
    python,
    pythons,
    said,
    sm,
    torch,
    v,
    worst,
)

NEWER, DROPPED = "arch-newer-than-build", "arch-dropped-by-framework"
CPU, ARM, JAX = "cpu-only-wheel", "cpu-wheel-on-aarch64", "jax-no-cuda-plugin"
TF_DRIVER, TF_WINDOWS = "tf-finds-no-driver", "tf-native-windows"
CPU_TORCH = torch("2.6.0+cpu", None)
HERE = {"system.architecture": "x86_64"}
SERVER = {"system.architecture": "aarch64"}
JAX_CPU = framework("jax", "jax==0.6.0", "0.6.0", None)
JAX_GPU = framework("jax", "jax==0.6.0", "0.6.0", "12")
WINDOWS = OsRelease("windows11", "windows", "11")


CASES = (
    Case(
        NEWER,
        "fail",
        "blackwell-on-cu124-by-the-table",
        machine(pythons(python(torch("2.6.0+cu124", "12.4"))), gpus=gpus(GPU_5090)),
        "12.0",
    ),
    Case(
        NEWER,
        "fail",
        "blackwell-by-the-binary",
        machine(
            pythons(python(torch("9.9.9+cu124", "12.4", sm_arch_list=sm("8.0", "9.0"), ptx_arch_list=()))),
            gpus=gpus(GPU_5090),
        ),
    ),
    Case(
        NEWER,
        "fail",
        "a-target-does-not-carry-over",
        machine(
            pythons(python(torch("9.9.9", "12.4", sm_arch_list=sm("9.0a"), ptx_arch_list=()))),
            gpus=gpus(("NVIDIA GeForce RTX 5090", "12.0")),
        ),
    ),
    Case(
        NEWER,
        "ok",
        "ada-served-by-8.6",
        machine(
            pythons(python(torch("9.9.9", "13.0", sm_arch_list=sm("7.5", "8.0", "8.6", "9.0"), ptx_arch_list=()))),
            gpus=gpus(GPU_4090),
        ),
    ),
    Case(
        NEWER,
        "ok",
        "ptx-is-compiled",
        machine(
            pythons(python(torch("9.9.9", "12.4", sm_arch_list=sm("8.0"), ptx_arch_list=sm("9.0")))),
            gpus=gpus(GPU_5090),
        ),
    ),
    Case(NEWER, "unknown", "no-row-no-binary", machine(pythons(python(torch("9.9.9", "12.4"))), gpus=gpus(GPU_5090))),
    Case(NEWER, "unknown", "gpu-unknown", machine(pythons(python(torch())))),
    Case(
        NEWER,
        "fail",
        "told",
        machine(said(NEWER, "no kernel image is available for execution on the device", sm="sm_120")),
        "sm_120",
    ),
    Case(
        DROPPED,
        "fail",
        "pascal-on-cu130",
        machine(
            pythons(python(torch("2.13.0+cu130", "13.0"))), gpus=gpus(GPU_1080), driver__kernel_module=v("580.65.06")
        ),
        "cu126",
    ),
    Case(DROPPED, "ok", "pascal-on-cu124", machine(pythons(python(torch("2.6.0+cu124", "12.4"))), gpus=gpus(GPU_1080))),
    Case(DROPPED, "fail", "told", machine(said(DROPPED, "PyTorch no longer supports this GPU because it is too old"))),
    Case(
        NEWER,
        "unknown",
        "told-of-a-gpu-below-the-range",
        machine(
            messages=(
                Message(f"{DROPPED}/torch-list", "6.1", 1, {"capability": "6.1", "least": "7.0", "most": "12.0"}),
                Message(f"{NEWER}/torch", "GTX 1070 with CUDA capability sm_61 is not compatible", 2, {"sm": "61"}),
            )
        ),
    ),
    Case(CPU, "fail", "gpu-there", machine(HERE, **pythons(python(CPU_TORCH)), gpus=gpus(GPU_4090)), "torch"),
    Case(
        CPU,
        "fail",
        "old-driver-gets-an-old-build",
        machine(HERE, **pythons(python(CPU_TORCH)), gpus=gpus(GPU_4090), driver__kernel_module=v("535.183.01")),
        "cu118",
    ),
    Case(CPU, "ok", "no-gpu", machine(HERE, **pythons(python(CPU_TORCH)), pci_gpus=())),
    Case(CPU, "ok", "gpu-build", machine(HERE, **pythons(python(torch())), gpus=gpus(GPU_4090))),
    Case(CPU, "skip", "rocm-is-no-cpu-build", machine(HERE, **pythons(python()), gpus=gpus(GPU_4090))),
    Case(CPU, "fail", "told", machine(said(CPU, "Torch not compiled with CUDA enabled"))),
    Case(CPU, "unknown", "gpu-unknown", machine(HERE, **pythons(python(CPU_TORCH)))),
    Case(
        ARM,
        "fail",
        "server",
        machine(SERVER, **pythons(python(torch("2.6.0", None))), gpus=gpus(("NVIDIA GH200 480GB", "9.0"))),
    ),
    Case(ARM, "ok", "gpu-build", machine(SERVER, **pythons(python(torch())), gpus=gpus(("NVIDIA GH200 480GB", "9.0")))),
    Case(ARM, "skip", "not-aarch64", machine(HERE, **pythons(python(CPU_TORCH)), gpus=gpus(GPU_4090))),
    Case(JAX, "fail", "cpu-plug-in-only", machine(pythons(python(JAX_CPU)), gpus=gpus(GPU_A100)), "jax[cuda12]"),
    Case(
        JAX,
        "fail",
        "plug-in-of-another-release",
        machine(
            pythons(python(JAX_GPU, dists=[dist("jaxlib==0.6.0"), dist("jax-cuda12-plugin==0.5.3")])),
            gpus=gpus(GPU_A100),
        ),
        "0.6.0",
    ),
    Case(
        JAX,
        "ok",
        "plug-in",
        machine(
            pythons(python(JAX_GPU, dists=[dist("jaxlib==0.6.0"), dist("jax-cuda12-plugin==0.6.0")])),
            gpus=gpus(GPU_A100),
        ),
    ),
    Case(JAX, "skip", "no-gpu", machine(pythons(python(JAX_CPU)), pci_gpus=())),
    Case(JAX, "fail", "told", machine(said(JAX, "a CUDA-enabled jaxlib is not installed. Falling back to cpu."))),
    Case(
        TF_DRIVER,
        "warn",
        "gpu-there",
        machine(gpus=gpus(GPU_4090), **said(TF_DRIVER, "Could not find cuda drivers on your machine")),
    ),
    Case(
        TF_DRIVER,
        "skip",
        "as-everywhere",
        machine(pci_gpus=(), **said(TF_DRIVER, "Could not find cuda drivers on your machine")),
    ),
    Case(
        TF_DRIVER,
        "ok",
        "silent-and-a-gpu-build",
        machine(
            pythons(python(framework("tensorflow", "tensorflow==2.18.0", "2.18.0", "12.5"))),
            gpus=gpus(GPU_4090),
            messages=(),
        ),
    ),
    Case(
        TF_WINDOWS,
        "fail",
        "late-release",
        machine(pythons(python(framework("tensorflow", "tensorflow==2.18.0", "2.18.0", None))), system__os=WINDOWS),
        "2.10",
    ),
    Case(
        TF_WINDOWS,
        "ok",
        "last-native-release",
        machine(pythons(python(framework("tensorflow", "tensorflow==2.10.1", "2.10.1", "11.2"))), system__os=WINDOWS),
    ),
    Case(
        TF_WINDOWS, "skip", "linux", machine(pythons(python()), system__os=OsRelease("ubuntu22.04", "ubuntu", "22.04"))
    ),
    Case(TF_WINDOWS, "fail", "told", machine(said(TF_WINDOWS))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("capability", ["8.9", "10.3", "12.1"])
def test_an_exact_match_in_the_list_is_not_needed(capability: str) -> None:
    arch = torch("2.13.0+cu130", "13.0", sm_arch_list=sm("7.5", "8.0", "8.6", "9.0", "10.0", "12.0"), ptx_arch_list=())
    environment = machine(pythons(python(arch)), gpus=gpus(("A GPU of tomorrow", capability)))
    assert [finding.status.value for finding in findings(NEWER, environment)] == ["ok"]
    assert [finding.status.value for finding in findings(DROPPED, environment)] == ["ok"]


def test_one_gpu_of_two_may_be_the_one_without_code() -> None:
    environment = machine(pythons(python(torch("2.6.0+cu124", "12.4"))), gpus=gpus(GPU_4090, GPU_5090))
    found = findings(NEWER, environment)
    assert [finding.status.value for finding in found] == ["fail", "ok"]
    assert "5090" in found[0].subject


def test_the_remedy_fits_the_gpu_the_driver_and_the_python() -> None:
    environment = machine(
        pythons(python(torch("2.6.0+cu124", "12.4"), version=v("3.11.7"))),
        gpus=gpus(GPU_5090),
        driver__kernel_module=v("570.86.15"),
    )
    remedy = worst(NEWER, environment).remedy
    assert remedy is not None
    assert remedy.commands[-1].endswith("/cu128")
    assert "CUDA 12" in remedy.summary


def test_rocm_and_jetson_are_judged_elsewhere() -> None:
    rocm = machine(HERE, **pythons(python(torch("2.6.0+rocm6.2", None, rocm=True))), gpus=gpus(GPU_4090))
    assert worst(CPU, rocm).status.value == "ok"
    jetson = machine(pythons(python(torch())), gpus=gpus(("Orin", "8.7")), system__machine_kind=MachineKind.JETSON)
    assert worst(NEWER, jetson).status.value != "fail"


@pytest.mark.parametrize(
    ("driver", "expected"),
    [("13.0", "jax[cuda12]==0.6.0"), ("12.4", "jax[cuda12]==0.6.0"), ("11.4", "jax[cuda11_pip]==0.4.")],
)
def test_jax_is_offered_in_the_installed_release_for_a_cuda_of_the_driver(driver: str, expected: str) -> None:
    environment = machine(pythons(python(JAX_CPU)), gpus=gpus(GPU_A100), driver__driver_cuda_version=v(driver))
    remedy = worst(JAX, environment).remedy
    assert remedy is not None
    assert expected in remedy.commands[-1]


@pytest.mark.parametrize(
    ("release", "cuda", "card", "words"),
    [
        ("0.3.1", "9.1", "GeForce GTX 960M", "torch==0.3.1 has no kernels for the GeForce GTX 960M"),  # 3.5, then 5.2
        ("2.6.0", "12.4", "NVIDIA GeForce RTX 5090", "torch==2.6.0 is too old for the NVIDIA GeForce RTX 5090"),
        ("2.9.0", "13.0", "NVIDIA GeForce GTX 1080", "torch==2.9.0 no longer supports the NVIDIA GeForce GTX 1080"),
    ],
)
def test_only_a_gpu_newer_than_every_target_makes_a_build_too_old(
    release: str, cuda: str, card: str, words: str
) -> None:
    text = (
        f"PyTorch version: {release}\nIs debug build: False\nCUDA used to build PyTorch: {cuda}\n"
        f"GPU models and configuration: GPU 0: {card}\n"
    )
    found = run_checks(parse_text(text), Matrix.load(), all_checks().values())
    assert any(finding.title.startswith(words) for finding in found if finding.status is Status.FAIL)
