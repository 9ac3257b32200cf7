"""Which CUDA fits which driver: floors, PTX, and numbers that may differ."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import CallResult, DriverLibrary, OsRelease, Problem, missing
from tests.checks.software import (
    GPU_4090,
    GPU_5090,
    GPU_A100,
    Case,
    assert_case,
    gpus,
    libcuda,
    machine,
    matrix,
    nvcc,
    python,
    pythons,
    said,
    sm,
    torch,
    v,
    worst,
)

WINDOWS = OsRelease("windows", "windows", "11")
TOO_OLD, PTX, SIDE = "driver-too-old-for-runtime", "ptx-newer-than-driver", "nvidia-smi-cuda-vs-nvcc"
COMPAT, FOREIGN, STUB = "cuda-compat-on-unsupported-hw", "driver-lib-mismatch-803", "libcuda-stub-loaded"
CU124 = pythons(python(torch("2.6.0+cu124", "12.4")))
CU130 = pythons(python(torch("2.13.0+cu130", "13.0")))
COMPAT_LIBRARY = DriverLibrary(
    "libcuda.so.1", "/usr/local/cuda-12.4/compat/libcuda.so.1", v("550.54.15"), compat=True, in_ld_cache=True
)

CASES = (
    Case(
        TOO_OLD,
        "fail",
        "cuda13-on-535",
        machine(CU130, driver__kernel_module=v("535.183.01"), gpus=gpus(GPU_4090)),
        "too old",
    ),
    # CUDA 12.x: 525.60.13 on Linux, 528.33 on Windows (CUDA release notes, table of minor version compatibility)
    Case(
        TOO_OLD,
        "fail",
        "windows-has-floors-of-its-own",
        machine(CU124, driver__kernel_module=v("526.98"), gpus=gpus(GPU_4090), system__os=WINDOWS),
        "it needs 528.33",
    ),
    Case(TOO_OLD, "ok", "windows", machine(CU124, driver__kernel_module=v("551.61"), system__os=WINDOWS)),
    Case(TOO_OLD, "ok", "native", machine(CU124, driver__kernel_module=v("550.90.07"))),
    Case(TOO_OLD, "ok", "minor-version", machine(CU124, driver__kernel_module=v("525.85.12"))),
    Case(
        TOO_OLD,
        "fail",
        "below-the-major-floor",
        machine(CU124, driver__kernel_module=v("470.82.01"), gpus=gpus(GPU_4090)),
    ),
    Case(
        TOO_OLD,
        "fail",
        "older-torch-offered",
        machine(CU130, driver__kernel_module=v("535.183.01"), gpus=gpus(GPU_4090)),
        "--index-url",
    ),
    Case(
        TOO_OLD,
        "skip",
        "no-module-is-another-fault",
        machine(CU124, driver__kernel_module=missing(Problem.ABSENT), kernel__loaded_modules=()),
    ),
    Case(TOO_OLD, "unknown", "nobody-looked-at-the-driver", machine(CU124)),
    Case(
        TOO_OLD,
        "fail",
        "told",
        machine(said(TOO_OLD, "The NVIDIA driver on your system is too old (found version 12040).", found="12040")),
        "12.4",
    ),
    Case(TOO_OLD, "skip", "no-framework", machine(pythons(python()), driver__kernel_module=v("550.90.07"))),
    Case(PTX, "fail", "told", machine(said(PTX))),
    Case(
        PTX,
        "fail",
        "only-ptx-for-this-gpu",
        machine(
            pythons(python(torch("2.7.0+cu128", "12.8", sm_arch_list=sm("8.0", "9.0"), ptx_arch_list=sm("9.0")))),
            gpus=gpus(GPU_5090),
            driver__driver_cuda_version=v("12.4"),
        ),
        "PTX",
    ),
    Case(
        PTX,
        "ok",
        "binary-code-there",
        machine(
            pythons(python(torch("2.7.0+cu128", "12.8", sm_arch_list=sm("8.0", "9.0"), ptx_arch_list=()))),
            gpus=gpus(GPU_4090),
            driver__driver_cuda_version=v("12.4"),
        ),
    ),
    Case(PTX, "unknown", "driver-unknown", machine(CU124)),
    Case(SIDE, "ok", "three-numbers", machine(CU124, driver__driver_cuda_version=v("12.8"), nvcc=nvcc("11.5.119"))),
    Case(SIDE, "skip", "one-number", machine(nvcc=nvcc("11.5.119"))),
    Case(
        COMPAT,
        "fail",
        "geforce",
        machine(gpus=gpus(GPU_4090), driver__libraries=(COMPAT_LIBRARY, libcuda("535.183.01", in_ld_cache=False))),
    ),
    Case(COMPAT, "ok", "data-center", machine(gpus=gpus(GPU_A100), driver__libraries=(COMPAT_LIBRARY,))),
    Case(COMPAT, "ok", "own-libcuda", machine(gpus=gpus(GPU_4090), driver__libraries=(libcuda("535.183.01"),))),
    Case(
        COMPAT,
        "fail",
        "error-804",
        machine(driver__cuda_init=CallResult(804, "COMPAT_NOT_SUPPORTED_ON_DEVICE", "cuInit")),
    ),
    Case(COMPAT, "fail", "told", machine(said(COMPAT))),
    Case(
        FOREIGN,
        "fail",
        "two-versions",
        machine(driver__libraries=(libcuda("550.54.14"),), driver__kernel_module=v("535.183.01")),
    ),
    Case(
        FOREIGN,
        "ok",
        "one-version",
        machine(driver__libraries=(libcuda("535.183.01"),), driver__kernel_module=v("535.183.01")),
    ),
    Case(FOREIGN, "fail", "error-803", machine(driver__cuda_init=CallResult(803, "SYSTEM_DRIVER_MISMATCH", "cuInit"))),
    Case(FOREIGN, "unknown", "module-unknown", machine(driver__libraries=(libcuda("535.183.01"),))),
    Case(
        STUB,
        "fail",
        "stub-on-the-path",
        machine(
            driver__libraries=(
                libcuda("535.183.01"),
                libcuda(None, "/usr/local/cuda/lib64/stubs/libcuda.so.1", stub=True, in_ld_cache=False),
            ),
            variables={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"},
        ),
        "stub",
    ),
    Case(
        STUB,
        "ok",
        "stub-off-the-path",
        machine(
            driver__libraries=(
                libcuda("535.183.01"),
                libcuda(None, "/usr/local/cuda/lib64/stubs/libcuda.so", stub=True, in_ld_cache=False),
            ),
            variables={},
        ),
    ),
    Case(STUB, "fail", "error-34", machine(driver__cuda_init=CallResult(34, "STUB_LIBRARY", "cuInit"))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


def test_error_35_without_a_driver_is_no_old_driver() -> None:
    environment = machine(
        CU124,
        driver__kernel_module=missing(Problem.ABSENT),
        kernel__loaded_modules=(),
        messages=(),
        driver__libraries=missing(Problem.ABSENT),
    )
    assert worst(TOO_OLD, environment).status.value == "skip"


def test_without_a_gpu_the_age_of_the_driver_is_a_consequence() -> None:
    environment = machine(CU130, driver__kernel_module=v("535.183.01"), pci_gpus=(), gpus=())
    checks = [all_checks()["no-gpu-on-pci"], all_checks()[TOO_OLD]]
    first, second = run_checks(environment, matrix(), checks)
    assert (first.id, second.id, second.because_of) == ("no-gpu-on-pci", TOO_OLD, "no-gpu-on-pci")
