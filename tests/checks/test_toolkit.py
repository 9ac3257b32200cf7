"""Toolkits, nvcc and what compiles: faults only for those who build, silence for those who do not."""

from __future__ import annotations

import pytest

from envkit.model import CudaLink, HostCompiler, Problem, missing
from tests.checks.software import (
    GPU_1080,
    GPU_4090,
    GPU_5090,
    PREFIX,
    UBUNTU,
    Case,
    assert_case,
    framework,
    gpus,
    machine,
    nvcc,
    python,
    pythons,
    said,
    toolkit,
    torch,
    v,
    worst,
)

MISSING, TORCH, SEVERAL = "toolkit-missing", "nvcc-vs-torch-mismatch", "several-toolkits-in-path"
LINK, WRAPPER, GCC = "cuda-symlink-wrong", "nvcc-wrapper-misleads", "gcc-too-new-for-nvcc"
OLD, DROPPED = "nvcc-too-old-for-gpu", "toolkit-dropped-arch"
LIBDEVICE, PTXAS, TRITON = "libdevice-not-found", "ptxas-missing-or-old", "triton-needs-compiler"
CU124 = pythons(python(torch("2.6.0+cu124", "12.4")))
JAX = framework("jax", "jax==0.6.0", "0.6.0", "12")


def gcc(version: str, *, default: bool = True, name: str = "gcc") -> HostCompiler:
    return HostCompiler(name, v(version), f"/usr/bin/gcc-{version.split('.')[0]}", default)


def tools(**paths: str) -> dict[str, str]:
    return {name.replace("Python_h", "Python.h"): path for name, path in paths.items()}


CASES = (
    Case(
        MISSING,
        "fail",
        "a-build-asked",
        machine(CU124, messages=said(MISSING)["messages"]),
        "envkit install --cuda 12.4",
    ),
    Case(MISSING, "ok", "nobody-builds", machine(CU124, nvcc=missing(Problem.ABSENT), cuda_toolkits=())),
    Case(MISSING, "ok", "there", machine(nvcc=nvcc("12.4.131"))),
    Case(
        MISSING,
        "warn",
        "home-leads-nowhere",
        machine(
            nvcc=nvcc("12.4.131", "/usr/local/cuda-12.4/bin/nvcc"),
            cuda_toolkits=(toolkit("12.4.131", "/usr/local/cuda-12.4"),),
            variables={"CUDA_HOME": "/usr/local/cuda-11.8"},
            cuda_home=missing(Problem.ABSENT),
        ),
        "export CUDA_HOME=/usr/local/cuda-12.4",
    ),
    Case(
        MISSING,
        "warn",
        "home-leads-nowhere-and-nothing-is-there",
        machine(
            nvcc=missing(Problem.ABSENT),
            cuda_toolkits=(),
            variables={"CUDA_PATH": "/nope"},
            cuda_home=missing(Problem.ABSENT),
        ),
        "unset CUDA_HOME CUDA_PATH",
    ),
    Case(
        TORCH,
        "warn",
        "other-major",
        machine(
            CU124, nvcc=nvcc("11.8.89"), cuda_toolkits=(toolkit("11.8.0"), toolkit("12.4.1", "/usr/local/cuda-12.4"))
        ),
        "export CUDA_HOME=/usr/local/cuda-12.4",
    ),
    Case(TORCH, "ok", "other-minor", machine(CU124, nvcc=nvcc("12.1.105"))),
    Case(
        TORCH,
        "ok",
        "home-names-the-right-one",
        machine(
            CU124,
            nvcc=nvcc("11.8.89"),
            cuda_toolkits=(toolkit("12.4.1", "/usr/local/cuda-12.4"),),
            variables={"CUDA_HOME": "/usr/local/cuda-12.4"},
        ),
    ),
    Case(TORCH, "fail", "told", machine(CU124, messages=said(TORCH)["messages"])),
    Case(TORCH, "skip", "no-nvcc", machine(CU124, nvcc=missing(Problem.ABSENT))),
    Case(
        SEVERAL,
        "warn",
        "distribution-first",
        machine(
            nvcc=nvcc("11.5.119", "/usr/bin/nvcc"),
            cuda_toolkits=(toolkit("11.5.0", "/usr", origin="package"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
        "/usr/local/cuda-12.4/bin",
    ),
    Case(
        SEVERAL,
        "ok",
        "newest-first",
        machine(
            nvcc=nvcc("12.4.131"),
            cuda_toolkits=(toolkit("11.8.0", "/usr/local/cuda-11.8"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
    ),
    Case(
        SEVERAL,
        "ok",
        "old-one-by-choice",
        machine(
            nvcc=nvcc("11.8.89"),
            variables={"CUDA_HOME": "/usr/local/cuda-11.8"},
            cuda_toolkits=(toolkit("11.8.0", "/usr/local/cuda-11.8"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
    ),
    Case(
        SEVERAL,
        "warn",
        "home-differs",
        machine(
            nvcc=nvcc("12.4.131"),
            variables={"CUDA_HOME": "/usr/local/cuda-11.8"},
            cuda_toolkits=(toolkit("11.8.0", "/usr/local/cuda-11.8"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
        "CUDA_HOME names",
    ),
    Case(
        LINK,
        "fail",
        "dangles",
        machine(
            cuda_link=CudaLink("/usr/local/cuda-12.1", False),
            cuda_toolkits=(toolkit("12.4.1", "/usr/local/cuda-12.4"),),
        ),
        "ln -sfn /usr/local/cuda-12.4",
    ),
    Case(
        LINK,
        "warn",
        "older",
        machine(
            cuda_link=CudaLink("/usr/local/cuda-11.8", True),
            cuda_toolkits=(toolkit("11.8.0"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
        "update-alternatives",
    ),
    Case(
        LINK,
        "ok",
        "newest",
        machine(
            cuda_link=CudaLink("/usr/local/cuda-12.4", True),
            cuda_toolkits=(toolkit("12.4.1"), toolkit("12.4.1", "/usr/local/cuda-12.4")),
        ),
    ),
    Case(
        WRAPPER,
        "warn",
        "script",
        machine(
            nvcc=nvcc("13.0.88", "/usr/local/bin/nvcc", wrapper=True, toolkit_path="/usr/local/cuda-13.0"), variables={}
        ),
        "export CUDA_HOME=/usr/local/cuda-13.0",
    ),
    Case(
        WRAPPER,
        "ok",
        "home-is-set",
        machine(
            nvcc=nvcc("13.0.88", "/usr/local/bin/nvcc", wrapper=True, toolkit_path="/usr/local/cuda-13.0"),
            cuda_toolkits=(toolkit("13.0.2", "/usr/local/cuda-13.0"),),
            variables={"CUDA_HOME": "/usr/local/cuda-13.0"},
        ),
    ),
    Case(
        WRAPPER,
        "ok",
        "home-is-a-link-to-it",
        machine(
            nvcc=nvcc("13.0.88", "/usr/local/bin/nvcc", wrapper=True, toolkit_path="/usr/local/cuda-13.0"),
            cuda_toolkits=(toolkit("13.0.2", "/usr/local/cuda-13.0"),),
            variables={"CUDA_HOME": "/opt/current"},
            cuda_home="/usr/local/cuda-13.0",
        ),
    ),
    *(
        Case(
            WRAPPER,
            "warn",
            f"home-{name}",
            machine(
                nvcc=nvcc("13.0.88", "/usr/local/bin/nvcc", wrapper=True, toolkit_path="/usr/local/cuda-13.0"),
                cuda_toolkits=(toolkit("13.0.2", "/usr/local/cuda-13.0"),),
                variables={"CUDA_HOME": home},
                cuda_home=leads_to,
            ),
            "export CUDA_HOME=/usr/local/cuda-13.0",
        )
        for name, home, leads_to in (
            ("leads-nowhere", "/nope", missing(Problem.ABSENT)),
            ("holds-no-toolkit", "/usr/local", "/usr/local"),
        )
    ),
    Case(
        WRAPPER,
        "unknown",
        "home-was-not-looked-at",
        machine(
            nvcc=nvcc("13.0.88", "/usr/local/bin/nvcc", wrapper=True, toolkit_path="/usr/local/cuda-13.0"),
            cuda_toolkits=(toolkit("13.0.2", "/usr/local/cuda-13.0"),),
            variables={"CUDA_HOME": "/opt/current"},
        ),
    ),
    Case(WRAPPER, "ok", "plain", machine(nvcc=nvcc("13.0.88", "/usr/local/cuda/bin/nvcc"))),
    Case(
        GCC,
        "fail",
        "none-fits",
        machine(UBUNTU, nvcc=nvcc("11.5.119"), host_compilers=(gcc("13.2.0"),), variables={}),
        "apt-get install",
    ),
    Case(
        GCC,
        "warn",
        "another-fits",
        machine(nvcc=nvcc("11.5.119"), host_compilers=(gcc("13.2.0"), gcc("11.4.0", default=False)), variables={}),
        "NVCC_PREPEND_FLAGS=-ccbin /usr/bin/g++-11",
    ),
    Case(
        GCC,
        "ok",
        "named-in-a-variable",
        machine(nvcc=nvcc("11.5.119"), host_compilers=(gcc("13.2.0"),), variables={"NVCC_CCBIN": "g++-11"}),
    ),
    Case(GCC, "ok", "fits", machine(nvcc=nvcc("13.0.88"), host_compilers=(gcc("12.2.0"),))),
    Case(
        GCC,
        "ok",
        "own-header-wins-over-the-table",
        machine(
            nvcc=nvcc("11.5.119"),
            cuda_toolkits=(toolkit("11.5.119", gcc_max=v("13")),),
            host_compilers=(gcc("13.2.0"),),
        ),
    ),
    Case(
        GCC,
        "fail",
        "told",
        machine(said(GCC, "unsupported GNU version! gcc versions later than 12 are not supported!", limit="12")),
        "gcc-12",
    ),
    Case(GCC, "skip", "no-nvcc", machine(nvcc=missing(Problem.ABSENT), host_compilers=(gcc("13.2.0"),))),
    Case(OLD, "warn", "blackwell-on-12.4", machine(nvcc=nvcc("12.4.131"), gpus=gpus(GPU_5090)), "12.8"),
    Case(OLD, "ok", "ada-on-11.5-is-served-by-8.6", machine(nvcc=nvcc("11.5.119"), gpus=gpus(GPU_4090))),
    Case(
        OLD,
        "fail",
        "told",
        machine(said(OLD, "nvcc fatal : Unsupported gpu architecture 'compute_120'", arch="compute_120")),
        "compute_120",
    ),
    Case(DROPPED, "fail", "pascal-on-13", machine(nvcc=nvcc("13.0.88"), gpus=gpus(GPU_1080)), "12.9"),
    Case(DROPPED, "ok", "pascal-on-12", machine(nvcc=nvcc("12.4.131"), gpus=gpus(GPU_1080))),
    Case(DROPPED, "skip", "no-gpu", machine(nvcc=nvcc("13.0.88"), pci_gpus=())),
    Case(
        LIBDEVICE,
        "warn",
        "looked-and-none",
        machine(pythons(python(JAX, build_tools=tools(libdevice="")))),
        "nvidia-cuda-nvcc",
    ),
    Case(
        LIBDEVICE,
        "ok",
        "there",
        machine(pythons(python(JAX, build_tools=tools(libdevice="/usr/local/cuda/nvvm/libdevice/libdevice.10.bc")))),
    ),
    Case(LIBDEVICE, "fail", "told", machine(said(LIBDEVICE)), "XLA_FLAGS"),
    Case(
        PTXAS,
        "warn",
        "older-than-the-gpu",
        machine(
            pythons(python(JAX, build_tools=tools(ptxas="/usr/bin/ptxas"), ptxas_version=v("12.4"))),
            gpus=gpus(GPU_5090),
        ),
        "TRITON_PTXAS_PATH",
    ),
    Case(
        PTXAS,
        "ok",
        "new-enough",
        machine(
            pythons(python(JAX, build_tools=tools(ptxas="/usr/bin/ptxas"), ptxas_version=v("12.9"))),
            gpus=gpus(GPU_5090),
        ),
    ),
    Case(PTXAS, "fail", "told", machine(said(PTXAS))),
    Case(
        TRITON,
        "warn",
        "no-compiler",
        machine(
            UBUNTU,
            **CU124 | pythons(python(torch(), build_tools=tools(cc="", Python_h="/usr/include/python3.11/Python.h"))),
            gpus=gpus(GPU_4090),
        ),
        "gcc",
    ),
    Case(
        TRITON,
        "ok",
        "complete",
        machine(
            pythons(python(torch(), build_tools=tools(cc="/usr/bin/gcc", Python_h="/usr/include/python3.11/Python.h"))),
            gpus=gpus(GPU_4090),
        ),
    ),
    Case(
        TRITON, "skip", "no-gpu", machine(pythons(python(torch(), build_tools=tools(cc="", Python_h=""))), pci_gpus=())
    ),
    Case(TRITON, "fail", "told", machine(said(TRITON))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


def test_nvcc_and_nvidia_smi_may_name_different_versions() -> None:
    environment = machine(CU124, driver__driver_cuda_version=v("13.0"), nvcc=nvcc("12.4.131"))
    assert worst("nvidia-smi-cuda-vs-nvcc", environment).status.value == "ok"


def test_no_nvcc_and_no_system_cudnn_are_healthy_where_only_wheels_run() -> None:
    environment = machine(
        CU124, nvcc=missing(Problem.ABSENT), cuda_toolkits=missing(Problem.ABSENT), cudnns=(), gpus=gpus(GPU_4090)
    )
    for id in (MISSING, TORCH, "cudnn-missing", "libcudart-missing"):
        assert worst(id, environment).status.value in ("ok", "skip"), (id, PREFIX)
