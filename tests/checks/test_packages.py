"""Python packages that do not fit each other, and Pythons that are not the one that was meant."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.model import Distribution, PythonEnvironment
from tests.checks.software import (
    GPU_4090,
    PREFIX,
    SITE,
    Case,
    assert_case,
    dist,
    framework,
    gpus,
    machine,
    python,
    pythons,
    said,
    torch,
    v,
    worst,
)

PINS, FAMILIES = "nvidia-wheels-pin-conflict", "nvidia-cu11-cu12-cu13-mixed"
VISION, REPLACED, ABI, NUMPY = (
    "torchvision-mismatch",
    "torch-replaced-by-dependency",
    "extension-abi-mismatch",
    "numpy2-abi",
)
TWO_TF, TF_GPU = "tf-two-packages", "tensorflow-gpu-removed"
NO_WHEEL, GLIBC, LIBSTDCXX = "python-no-wheel", "glibc-too-old", "libstdcxx-too-old"
USER_SITE, SHADOW, PIP, DISK = (
    "user-site-shadows-env",
    "local-module-shadows",
    "pip-belongs-to-other-python",
    "disk-full-at-install",
)
LINUX = 'platform_system == "Linux" and platform_machine == "x86_64"'
TORCH = dist(
    "torch==2.6.0+cu124",
    f"nvidia-cudnn-cu12 (==9.1.0.70) ; {LINUX}",
    f"nvidia-nccl-cu12==2.21.5; {LINUX}",
    'optree; extra == "optree"',
)
BUNDLE = (
    dist("torch==2.14.1", 'cuda-toolkit[cublas]==13.0.3; platform_system == "Linux"'),
    dist(
        "cuda-toolkit==13.0.3",
        "nvidia-cublas==13.1.1.3.*; extra == 'cublas'",
        "nvidia-cufft==12.0.0.61.*; extra == 'cufft'",
    ),
)
LIB = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


def env(*dists: Distribution, **more: object) -> dict[str, object]:
    return pythons(python(torch(), dists=dists, **more))


def plain(torch_version: str, partner: str) -> PythonEnvironment:
    """What `pip list` of packages from the index tells: no build tags, no requirement lines, no CUDA."""
    known = framework("pytorch", f"torch=={torch_version}", torch_version, None)
    return python(replace(known, cuda_known=False), dists=[dist(partner)])


CASES = (
    Case(
        PINS,
        "fail",
        "other-cudnn",
        machine(env(TORCH, dist("nvidia-cudnn-cu12==9.5.1.17"), dist("nvidia-nccl-cu12==2.21.5"))),
        "install nvidia-cudnn-cu12==9.1.0.70",
    ),
    Case(
        PINS,
        "warn",
        "other-nccl",
        machine(env(TORCH, dist("nvidia-cudnn-cu12==9.1.0.70"), dist("nvidia-nccl-cu12==2.25.1"))),
    ),
    Case(
        PINS, "ok", "pinned", machine(env(TORCH, dist("nvidia-cudnn-cu12==9.1.0.70"), dist("nvidia-nccl-cu12==2.21.5")))
    ),
    Case(
        PINS,
        "fail",
        "through-a-bundle",
        machine(env(*BUNDLE, dist("nvidia-cublas==13.2.0.9"), dist("nvidia-cufft==12.9.9.9"))),
        "nvidia-cublas",
    ),
    Case(
        PINS,
        "ok",
        "extra-that-nobody-asked-for",
        machine(env(*BUNDLE, dist("nvidia-cublas==13.1.1.3"), dist("nvidia-cufft==12.9.9.9"))),
    ),
    Case(PINS, "fail", "told", machine(said(PINS))),
    Case(
        PINS,
        "ok",
        "marker-of-another-machine",
        machine(env(TORCH, dist("nvidia-cudnn-cu12==9.5.1.17")), system__architecture="aarch64"),
    ),
    Case(
        FAMILIES,
        "warn",
        "two",
        machine(env(dist("nvidia-cublas-cu12==12.4.5.8"), dist("nvidia-cublas-cu11==11.10.3.66"))),
        "CUDA 11",
    ),
    Case(
        FAMILIES,
        "warn",
        "suffix-and-none",
        machine(env(dist("nvidia-cublas-cu12==12.4.5.8"), dist("nvidia-cublas==13.1.1.3"))),
        "CUDA 13",
    ),
    Case(FAMILIES, "ok", "one", machine(env(dist("nvidia-cublas==13.1.1.3"), dist("nvidia-cudnn-cu13==9.20.0.48")))),
    Case(
        VISION,
        "fail",
        "unmet",
        machine(env(dist("torchvision==0.20.1+cu124", "torch (==2.5.1)"))),
        "requires torch ==2.5.1",
    ),
    Case(VISION, "fail", "other-cuda", machine(env(dist("torchvision==0.21.0+cu118", "torch (==2.6.0)"))), "cu118"),
    Case(VISION, "fail", "pasted-list", machine(env(dist("torchvision==0.18.0"))), "torchvision==0.21.0"),
    # 2.6.0 goes with 0.21.0 (PyTorch's previous-versions page), whichever of its CUDA builds it is
    Case(
        VISION, "fail", "pasted-list-without-a-tag", machine(pythons(plain("2.6.0", "torchvision==0.17.0"))), "0.21.0"
    ),
    Case(
        VISION, "fail", "pasted-list-audio", machine(pythons(plain("2.6.0", "torchaudio==2.5.0"))), "torchaudio==2.6.0"
    ),
    # conda's pair (PyTorch's previous-versions page); PyPI has 2.0.1 for it
    Case(VISION, "ok", "pasted-list-pair-of-conda", machine(pythons(plain("2.0.0", "torchaudio==2.0.0")))),
    Case(VISION, "ok", "pasted-list-pair", machine(pythons(plain("2.6.0", "torchvision==0.21.0")))),
    Case(VISION, "unknown", "pasted-list-of-no-release-known", machine(pythons(plain("99.0", "torchvision==0.21.0")))),
    Case(VISION, "ok", "pair", machine(env(dist("torchvision==0.21.0+cu124", "torch (==2.6.0)")))),
    Case(VISION, "fail", "told", machine(said(VISION, "operator torchvision::nms does not exist"))),
    Case(
        REPLACED,
        "fail",
        "cpu-beside-cuda",
        machine(pythons(python(torch("2.6.0+cpu", None), dists=[dist("torchvision==0.21.0+cu124")]))),
        "CPU build",
    ),
    Case(REPLACED, "fail", "pip-over-conda", machine(env(dist("pytorch==2.1.0", installer="conda"))), "conda"),
    Case(REPLACED, "ok", "one-source", machine(env(dist("torchvision==0.21.0+cu124")))),
    Case(ABI, "fail", "other-torch", machine(env(dist("flash-attn==2.7.4+cu12torch2.5cxx11abiFALSE"))), "torch 2.5"),
    Case(
        ABI,
        "fail",
        "symbols",
        machine(env(dist("flash-attn==2.7.4"), unresolved_symbols=("flash-attn: _ZN3c105ErrorC2E",))),
        "_ZN3c105ErrorC2E",
    ),
    Case(
        ABI,
        "fail",
        "other-python",
        machine(env(dist("xformers==0.0.29", wheel_tags=("cp310-cp310-manylinux_2_28_x86_64",)))),
        "Python 3.10",
    ),
    Case(
        ABI,
        "ok",
        "stable-interface",
        machine(env(dist("xformers==0.0.29", wheel_tags=("cp39-abi3-manylinux_2_28_x86_64",)))),
    ),
    Case(ABI, "ok", "same-torch", machine(env(dist("flash-attn==2.7.4+cu12torch2.6cxx11abiFALSE")))),
    Case(ABI, "fail", "told", machine(said(ABI, "flash_attn_2_cuda.so: undefined symbol: _ZN3c10"))),
    Case(
        NUMPY,
        "fail",
        "old-torch",
        machine(pythons(python(torch("2.1.0+cu118", "11.8"), dists=[dist("numpy==2.1.0")]))),
        "numpy<2",
    ),
    Case(
        NUMPY,
        "fail",
        "by-metadata",
        machine(
            pythons(
                python(
                    framework("tensorflow", "tensorflow==9.9", "9.9", "12.5"),
                    dists=[dist("tensorflow==9.9", "numpy<2.0.0,>=1.23"), dist("numpy==2.1.0")],
                )
            )
        ),
        "requires numpy",
    ),
    # neither our row of torch 2.6.0 nor its own metadata names a NumPy: no proof of a fit
    Case(NUMPY, "unknown", "new-torch", machine(env(dist("numpy==2.1.0")))),
    Case(NUMPY, "ok", "own-metadata", machine(env(dist("torch==2.6.0+cu124", "filelock"), dist("numpy==2.1.0")))),
    Case(
        NUMPY, "ok", "old-numpy", machine(pythons(python(torch("2.1.0+cu118", "11.8"), dists=[dist("numpy==1.26.4")])))
    ),
    Case(NUMPY, "fail", "told", machine(said(NUMPY, "_ARRAY_API not found"))),
    Case(
        TWO_TF,
        "fail",
        "two",
        machine(pythons(python(dists=[dist("tensorflow==2.18.0"), dist("tensorflow-cpu==2.18.0")]))),
        "uninstall -y tensorflow",
    ),
    Case(
        TWO_TF, "ok", "one", machine(pythons(python(dists=[dist("tensorflow==2.18.0"), dist("tensorflow-io==0.37.0")])))
    ),
    Case(
        TWO_TF,
        "ok",
        "beside-the-empty-one",
        machine(pythons(python(dists=[dist("tensorflow==2.18.0"), dist("tensorflow-gpu==2.12.0")]))),
    ),
    Case(
        TF_GPU,
        "fail",
        "empty-one",
        machine(pythons(python(dists=[dist("tensorflow-gpu==2.12.0")]))),
        "tensorflow[and-cuda]",
    ),
    Case(TF_GPU, "ok", "real-one", machine(pythons(python(dists=[dist("tensorflow-gpu==1.15.0")])))),
    Case(TF_GPU, "fail", "told", machine(said(TF_GPU, 'The "tensorflow-gpu" package has been removed!'))),
    Case(NO_WHEEL, "fail", "told", machine(said(NO_WHEEL, "ERROR: No matching distribution found for torch"))),
    Case(NO_WHEEL, "warn", "from-the-future", machine(pythons(python(version=v("3.31.0")))), "3.31"),
    Case(NO_WHEEL, "ok", "usual", machine(pythons(python(version=v("3.11.7"))))),
    Case(
        GLIBC,
        "fail",
        "tag",
        machine(env(dist("torch==2.7.0", wheel_tags=("cp311-cp311-manylinux_2_28_x86_64",))), system__glibc=v("2.17")),
        "2.28",
    ),
    Case(
        GLIBC,
        "fail",
        "binary",
        machine(env(glibc_needed={f"{SITE}/torch/lib/libtorch_cpu.so": v("2.28")}), system__glibc=v("2.17")),
        "libtorch_cpu.so",
    ),
    Case(
        GLIBC,
        "ok",
        "meets",
        machine(env(glibc_needed={f"{SITE}/torch/lib/libtorch_cpu.so": v("2.28")}), system__glibc=v("2.36")),
    ),
    Case(
        GLIBC,
        "ok",
        "lowest-of-two-tags",
        machine(
            env(
                dist(
                    "triton==3.2.0",
                    wheel_tags=("cp311-cp311-manylinux_2_27_x86_64", "cp311-cp311-manylinux_2_17_x86_64"),
                )
            ),
            system__glibc=v("2.17"),
        ),
    ),
    Case(GLIBC, "unknown", "glibc-unknown", machine(env(glibc_needed={"/x.so": v("2.28")}))),
    Case(GLIBC, "fail", "told", machine(said(GLIBC, "version `GLIBC_2.28' not found"))),
    Case(
        LIBSTDCXX,
        "fail",
        "older",
        machine(env(glibcxx_needed={"/x/_C.so": v("3.4.32")}, libstdcxx=LIB, libstdcxx_version=v("3.4.30"))),
        "3.4.32",
    ),
    Case(
        LIBSTDCXX,
        "ok",
        "meets",
        machine(env(glibcxx_needed={"/x/_C.so": v("3.4.22")}, libstdcxx=LIB, libstdcxx_version=v("3.4.30"))),
    ),
    Case(LIBSTDCXX, "fail", "told", machine(said(LIBSTDCXX, "version `GLIBCXX_3.4.32' not found"))),
    Case(
        USER_SITE,
        "fail",
        "hidden",
        machine(env(dist("torch==2.6.0+cu124"), dist("torch==1.13.1", user_site=True))),
        "PYTHONNOUSERSITE=1",
    ),
    Case(
        USER_SITE,
        "ok",
        "same-release",
        machine(env(dist("torch==2.6.0+cu124"), dist("torch==2.6.0+cu124", user_site=True))),
    ),
    Case(USER_SITE, "ok", "others", machine(env(dist("black==24.1", user_site=True)))),
    Case(USER_SITE, "fail", "told", machine(said(USER_SITE))),
    Case(
        SHADOW,
        "fail",
        "torch.py",
        machine(env(shadowing_modules=("/home/user/work/torch.py",))),
        "mv /home/user/work/torch.py /home/user/work/torch_mine.py",
    ),
    Case(SHADOW, "warn", "random.py", machine(env(shadowing_modules=("/home/user/work/random.py",)))),
    Case(SHADOW, "ok", "nothing", machine(env())),
    Case(
        SHADOW, "fail", "told", machine(said(SHADOW, "partially initialized module 'torch' has no attribute 'Tensor'"))
    ),
    Case(PIP, "warn", "other", machine(env(pip_python="/usr/bin/python3")), f"{PREFIX}/bin/python -m pip"),
    Case(PIP, "ok", "same", machine(env(pip_python=f"{PREFIX}/bin/python3"))),
    Case(PIP, "fail", "told", machine(said(PIP))),
    Case(DISK, "fail", "told", machine(said(DISK, "OSError: [Errno 28] No space left on device"))),
    Case(
        DISK,
        "warn",
        "tight",
        machine(pythons(python()), system__free_bytes={"/tmp": 900_000_000, "/": 80_000_000_000}),
        "/tmp",
    ),
    Case(
        DISK,
        "ok",
        "room",
        machine(pythons(python()), system__free_bytes={"/tmp": 80_000_000_000, "/dev/shm": 64_000_000}),
    ),
    Case(DISK, "skip", "installed-already", machine(env(), system__free_bytes={"/tmp": 900_000_000})),
    Case(DISK, "unknown", "unknown", machine(env())),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


def test_only_the_active_environment_is_judged() -> None:
    other = python(torch("2.6.0+cpu", None), active=False)
    environment = machine(pythons(python(torch()), other), gpus=gpus(GPU_4090), system__architecture="x86_64")
    assert worst("cpu-only-wheel", environment).status.value == "ok"


def test_a_requirement_line_that_nobody_can_read_asks_for_nothing() -> None:
    environment = machine(
        env(dist("torch==2.6.0+cu124", "nvidia-cudnn-cu12 == what? ; ((", "nvidia-nccl-cu12==2.21.5"))
    )
    assert worst(PINS, environment).status.value == "ok"
