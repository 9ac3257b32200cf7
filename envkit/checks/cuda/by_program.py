"""Programs whose CUDA libraries come as a set, from a distribution's package, or in another way on Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.cuda.dll_folders import TOOLKITS
from envkit.checks.cuda.named_release import of_named_release
from envkit.checks.engine.command import NAME, PYTHON, REQUIREMENT, for_windows, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.installs import named_python, pip
from envkit.model import Environment, Message
from envkit.probe.sonames import spans_of
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "libcudart-missing"
_OF_ONE_RELEASE = regex(r"libnvrtc\.so\.\d{1,2}\.\d")  # a name that changes with every release of CUDA
_DLL = regex(r"(?:cudart|cublas|cufft|curand|cusolver|cusparse)64_(?P<major>[6-9]|10)(?P<minor>\d)\.dll")
_MXNET = ("cuda-runtime", "cublas", "cufft", "curand", "cusolver", "cuda-nvrtc", "nccl")
_MXNET_CUDNN = "8"  # of its builds for CUDA 11
_FIRST_IN_WHEELS = "libnvrtc.so.11.2"  # the name in the oldest wheels that the package index has
_CUBLAS = "libcublas"


def of_program(environment: Environment, matrix: Matrix, messages: tuple[Message, ...]) -> Remedy | None:
    """The remedy that the program, its package, or the system calls for; None where the library's name decides."""
    library = named(messages, "library") or ""
    if on_windows(environment):
        return _bitsandbytes(environment) or _dll_of_release(environment, matrix, library)
    if packaged := _of_distribution(environment):
        return packaged
    if library.startswith(_CUBLAS) and (apart := _cublas_apart(environment, library)):
        return apart
    if set_of_mxnet := _of_mxnet(environment, library):
        return set_of_mxnet
    if _OF_ONE_RELEASE.fullmatch(library) and (spans := spans_of(library)) and spans[0][0] == spans[-1][1]:
        return of_named_release(environment, matrix, spans[0][0])
    return None


def _of_distribution(environment: Environment) -> Remedy | None:
    """A program that pacman installed, built for the CUDA before the last update of the system; None for others."""
    program = named(seen(environment, _ID, "detail-distribution"), "program")
    if program is None:
        return None
    return remedy(
        environment,
        f"{program} is the distribution's package, and an update of the system replaced the CUDA it was built for. "
        "Its maintainers have to build it again: update the whole system first and try again. Until the rebuilt "
        "package is there, go back to the CUDA and cuDNN from before the update: the second command lists the files "
        "that pacman still has; install them with sudo pacman -U and their paths, and add IgnorePkg = cuda cudnn to "
        "/etc/pacman.conf so that the next update keeps them. A link to another release's file only delays the crash.",
        "pacman-cuda-before",
    )


def _of_mxnet(environment: Environment, library: str) -> Remedy | None:
    """MXNet's wheels bring no library of CUDA: every one that it opens at the import, where wheels have them."""
    family = named(seen(environment, _ID, "detail-mxnet"), "mxnet") or ""
    python = named_python(environment)
    finds = steps(environment, "wheel-libraries", python=python.executable or "python")
    line = Version.find(f"{family[:-1]}.{family[-1]}") if len(family) > 1 else None
    if line is None or line.major != limit("one-soname-per-major").major:
        return None  # the package index has the libraries of no older CUDA
    if library.startswith("libnccl"):
        return Remedy(
            "This MXNet loads NCCL when it is imported, but does not include it: install NVIDIA's NCCL wheel, and let "
            "the loader find it (the last two lines are needed in each shell; to make this permanent, add them to "
            "~/.bashrc). Then import mxnet in the same shell.",
            (pip(python, "install", NAME("nvidia-nccl-cu11")), *finds),
        )
    if line < spans_of(_FIRST_IN_WHEELS)[0][0]:
        return None
    names = [REQUIREMENT(f"nvidia-{name}-cu{line.major}") for name in _MXNET]
    return Remedy(
        f"mxnet-cu{family} includes no CUDA library and opens all of these when it is imported: the message names only "
        "the first that is missing. Install them as wheels, with cuDNN, and let the loader find them (the last two "
        "lines are needed in each shell; to make this permanent, add them to ~/.bashrc). The driver has to support "
        f"CUDA {line.major}. Then import mxnet in the same shell.",
        (
            pip(python, "install", *names, REQUIREMENT(f"nvidia-cudnn-cu{line.major}=={_MXNET_CUDNN}.*")),
            *finds,
        ),
    )


def _cublas_apart(environment: Environment, library: str) -> Remedy | None:
    """cuBLAS of the toolkits whose packages put it into another toolkit's directory, where the text shows such a
    toolkit."""
    told = seen(environment, _ID, "detail-cublas-apart")
    major = library.rpartition(".so.")[2]
    if not told or not major.isdigit():
        return None
    release = told[0].values["release"]
    return remedy(
        environment,
        f"The packages of CUDA {release} put cuBLAS in a different directory than the rest of the toolkit: the next "
        "release's, or the system's. The first command prints where it is. If it prints a file, the other two make the "
        "loader search that directory, for every user and service; then start the program again. If it prints nothing, "
        f"cuBLAS is not installed: sudo apt-get install -y libcublas{major}, and run the commands again.",
        "find-cublas",
        major=major,
    )


def _bitsandbytes(environment: Environment) -> Remedy | None:
    """bitsandbytes that looks for a library of Linux on Windows: its old releases have no other."""
    if "CUDA_SETUP" not in said(environment, _ID) and "CUDA SETUP" not in said(environment, _ID):
        return None
    first = limit("bitsandbytes-for-windows")
    python = named_python(environment)
    return Remedy(
        f"This bitsandbytes looks for a Linux library: releases before {first} have no build for Windows. No CUDA "
        "library is missing. Upgrade bitsandbytes in the program's environment; the last command then prints SUCCESS "
        "or the next problem. Packages such as bitsandbytes-windows are in its way: remove them.",
        (
            pip(python, "uninstall", "-y", NAME("bitsandbytes"), NAME("bitsandbytes-windows")),
            pip(python, "install", REQUIREMENT(f"bitsandbytes>={first}")),
            for_windows(run(PYTHON(python.executable or "python"), "-m", "bitsandbytes")),
        ),
    )


def _dll_of_release(environment: Environment, matrix: Matrix, library: str) -> Remedy | None:
    """The CUDA whose number is in the DLL's name, next to the one that is there: its installer adds it to Path."""
    match = _DLL.fullmatch(library)
    wanted = Version.find(f"{match['major']}.{match['minor']}") if match else None
    if wanted is None or not any(row.release == wanted for row in matrix.toolkits):
        return None
    return toolkit_by_hand(environment, matrix, wanted, f"{library} is in CUDA {wanted} only. ")


def toolkit_by_hand(environment: Environment, matrix: Matrix, wanted: Version, why: str) -> Remedy:
    """That release of CUDA and its cuDNN on Windows, from NVIDIA's archives: toolkits do not disturb each other."""
    rows = [row for row in matrix.builds("tensorflow") if row.cuda is not None and row.cuda.release(2) == wanted]
    majors = {row.cudnn.major for row in rows if row.cudnn is not None}
    cudnn = max(majors, default=None)
    folder = f"{TOOLKITS}\\v{wanted}\\bin"
    number = str(wanted).replace(".", "")
    with_cudnn = (
        f" Then download cuDNN {cudnn} for CUDA {wanted} and Windows (https://developer.nvidia.com/rdp/cudnn-archive), "
        f"unpack it, and copy cuda\\bin\\cudnn64_{cudnn}.dll to {folder} (as administrator): a cuDNN for another CUDA "
        "does not work with it."
        if cudnn is not None
        else ""
    )
    return Remedy(
        f"{why}Install CUDA {wanted} from NVIDIA's archive (https://developer.nvidia.com/cuda-toolkit-archive) next to "
        "the toolkit that is there, which stays as it is. In the installer, choose Custom and leave out the display "
        f"driver if yours is newer; Visual Studio is not needed. The installer adds {folder} to Path.{with_cudnn} "
        "Start the program in a new window: there, the commands have to print both files.",
        tuple(
            for_windows(run("where.exe", NAME(name)))
            for name in (f"cudart64_{number}.dll", *((f"cudnn64_{cudnn}.dll",) if cudnn is not None else ()))
        ),
    )


def with_toolkit(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """A TensorFlow for Windows without CUDA's libraries, and how these come: the command alone does not bring them."""
    line = " ".join(given.commands)
    rows = (row for row in matrix.builds("tensorflow") if row.package and f" {row.package} " in f"{line} ")
    row = next((row for row in rows if row.cuda is not None and not row.bundles_cuda), None)
    if row is None or row.cuda is None or not on_windows(environment):
        return given
    added = toolkit_by_hand(environment, matrix, row.cuda.release(2), "")
    return Remedy(f"{given.advice} {added.advice}", (*given.steps, *added.steps))
