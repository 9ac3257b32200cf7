"""What runs with the driver that is there, where a package other than the installed framework asks for a newer one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, REQUIREMENT, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import capable_gpus, installs, judged, named_python, pip
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment, found
from envkit.tables.codes import limit
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "driver-too-old-for-runtime"
_BINDINGS = ("cuda-python", "cuda-bindings")
_VLLM = "vllm"
_OLDER_WHEELS = "+cu118"  # in the names of its wheels for the oldest drivers
_CTRANSLATE2 = ("detail-ctranslate2", "detail-whisper")


def with_this_driver(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where the text shows which package asks for the newer driver; None where it is the framework."""
    return (
        _of_build(environment)
        or _of_ctranslate2(environment, matrix)
        or _of_bindings(environment, matrix)
        or _of_vllm(environment)
        or _without_query(environment, matrix)
    )


def _cuda_of_driver(environment: Environment, matrix: Matrix) -> Version | None:
    driver = installed(environment)
    row = matrix.driver_branch(driver.major) if driver is not None else None
    return environment.driver.driver_cuda_version.value or (row.driver_cuda_version if row is not None else None)


def _of_build(environment: Environment) -> Remedy | None:
    """A build in an environment of pip's own, for which pip fetched the newest torch: the installed one is not used."""
    if not seen(environment, _ID, "detail-build-environment"):
        return None
    python = named_python(environment)
    vllm = (
        " vLLM's requirements name a torch as well: run python use_existing_torch.py in its source first, and check "
        "out the release that was made for the installed torch if the source is newer."
        if seen(environment, _ID, "detail-vllm")
        else ""
    )
    return Remedy(
        "pip builds a source in an environment of its own (/tmp/pip-build-env-…), and fetched the newest torch into "
        "it, which is too new for this driver; the torch that you have is neither used nor at fault. Build with that "
        "one instead: install the tools that the build needs, then build without isolation, in the directory of the "
        f"source.{vllm} The source must support the torch that is installed (the first command prints it and whether "
        "it sees the GPU).",
        (
            run("python", "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"),
            pip(python, "install", *map(NAME, ("packaging", "ninja", "cmake", "setuptools", "wheel", "numpy"))),
            pip(python, "install", "--no-build-isolation", "-e", "."),
        ),
    )


def _of_ctranslate2(environment: Environment, matrix: Matrix) -> Remedy | None:
    """Its last release for CUDA 11, where the driver runs no newer CUDA."""
    own = _cuda_of_driver(environment, matrix)
    major = int(limit("cuda-of-most-programs").major)
    if own is None or own.major >= major or not seen(environment, _ID, *_CTRANSLATE2):
        return None
    python = named_python(environment)
    last = limit("ctranslate2-last-cuda-11")
    finds = (
        () if on_windows(environment) else steps(environment, "wheel-libraries", python=python.executable or "python")
    )
    return Remedy(
        f"CTranslate2 4 and newer are built for CUDA {major}, and this driver runs CUDA {own.release(2)}. "
        f"{last} is the last release for CUDA {major - 1}: the driver stays as it is. It loads cuBLAS {major - 1} and "
        "cuDNN 8 from the loader's path, which the first command installs as wheels; the last two lines set that path "
        "(in each shell). If pip reports that faster-whisper or WhisperX needs a newer one, their newer releases do "
        "not run with this driver: install an older release of them, which asks for ctranslate2 3.",
        (
            pip(
                python,
                "install",
                REQUIREMENT(f"ctranslate2=={last}"),
                NAME(f"nvidia-cublas-cu{major - 1}"),
                REQUIREMENT(f"nvidia-cudnn-cu{major - 1}==8.*"),
            ),
            *finds,
        ),
    )


def _of_bindings(environment: Environment, matrix: Matrix) -> Remedy | None:
    """NVIDIA's Python bindings of a newer major CUDA than the driver runs, next to a torch that it does run."""
    own = _cuda_of_driver(environment, matrix)
    for python in judged(environment):
        items = [item for item in python.distributions if item.name in _BINDINGS]
        newer = [
            item for item in items if (version := Version.find(item.version)) and own and version.major > own.major
        ]
        if own is None or not newer:
            continue
        cudas = [item.framework.cuda for item in installs(environment) if item.python is python]
        if any(cuda is None or cuda.major > own.major for cuda in cudas):
            continue
        words = [REQUIREMENT(f"{item.name}=={own.major}.*") for item in newer]
        return Remedy(
            f"{newer[0].name} {newer[0].version} is for CUDA {newer[0].version.partition('.')[0]}, and this driver "
            f"runs CUDA {own.release(2)}. PyTorch is not at fault: leave it, and install the bindings of CUDA "
            f"{own.major}, which this driver supports. Then start the program again.",
            (pip(python, "install", *words), pip(python, "check")),
        )
    return None


def _of_vllm(environment: Environment) -> Remedy | None:
    """vLLM's own wheels for an older CUDA, where the text asks how to keep the driver."""
    if not seen(environment, _ID, "detail-vllm") or list(installs(environment)) or installed(environment) is not None:
        return None
    from envkit.tables.ways import OtherWay

    rows = [row for row in read(OtherWay) if row.framework == _VLLM and _OLDER_WHEELS in row.way]
    if not rows or rows[-1].from_capability is None:
        return None
    return Remedy(
        "The driver can stay: vLLM's default wheels are for a newer CUDA, but its release page has others. In a new "
        f"environment, install {rows[-1].way}. The GPU needs compute capability {rows[-1].from_capability} or higher. "
        "The command prints the driver and the newest CUDA that it runs. No CUDA toolkit is needed on the machine.",
        (fixed("nvidia-smi"),),
    )


def _without_query(environment: Environment, matrix: Matrix) -> Remedy | None:
    """A build that asks nvidia-smi for the GPU's compute capability, which an old one cannot tell: name it."""
    if not seen(environment, _ID, "compute-cap"):
        return None
    owns = [own for _, own in capable_gpus(environment, matrix)]
    number = str(owns[0]).replace(".", "") if owns else "86"
    ask = (
        ""
        if owns
        else " 86 stands for an RTX 30 card: the first command prints the GPU's name, and envkit matrix gpus its "
        "compute capability; write it without the dot."
    )
    return Remedy(
        "The build asks nvidia-smi for the GPU's compute capability, and the nvidia-smi of this driver cannot tell it. "
        f"The driver can stay: name the capability yourself, in the shell that builds.{ask} The variable is that of "
        "Candle and its kernels; for CMake, the option is CMAKE_CUDA_ARCHITECTURES, and for extensions of PyTorch, "
        "TORCH_CUDA_ARCH_LIST (with the dot). The toolkit has to compile for it.",
        (fixed("nvidia-smi -L"), export("CUDA_COMPUTE_CAP", number), fixed("cargo build --features cuda")),
    )


def as_before_the_update(environment: Environment, matrix: Matrix) -> Environment:
    """The machine whose driver is known to be too old for the installed build: as if it ran the CUDA before that one.

    Where nothing else tells what the driver runs, so that no build of the same CUDA is offered again.
    """
    driver = environment.driver
    if driver.driver_cuda_version.known or installed(environment) is not None:
        return environment
    cudas = [item.framework.cuda for item in installs(environment) if item.framework.cuda is not None]
    older = [row.release for row in matrix.toolkits if cudas and row.release < max(cudas).release(2)]
    if not older:
        return environment
    return replace(environment, driver=replace(driver, driver_cuda_version=found(max(older), "message")))
