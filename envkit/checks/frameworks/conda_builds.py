"""The build for CUDA by conda itself, where conda brought the CPU build: pip would leave conda's list wrong."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import CONDA_SPEC, NAME, PATH, Command, Word, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.frameworks.installs import Installed, capable_gpus, release
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.pairs import CondaBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_FORGE = "conda-forge"
_VISION_OF_FORGE = "torchvision=*=cuda*"  # a CUDA build of it, as the build string says
_OF_FORGE = regex(r"\bpytorch(?:-| {1,40})(?P<version>\d\.\d{1,2}\.\d)[ |]{1,40}cpu_(?:generic|mkl)_")
_BUILD_OF_FORGE = regex(r"\bcpu_(?:generic|mkl)(?:\b|_)|\bconda-forge pytorch\b")
_FORGES_OWN = "libtorch"  # a part that only conda-forge packages apart from pytorch
_ALWAYS = ("pytorch", "cudatoolkit", "pytorch-cuda", "torchvision")
_CPU_CHOICE = ("cpuonly",)  # a package that holds the CPU build there
_KEEP = (
    "Install the CUDA build with conda, because conda installed the CPU build: if pip replaced it, the next conda "
    "update would undo that. conda may change other packages as well: read its plan before you confirm."
)


def by_conda(environment: Environment, matrix: Matrix, found: Installed) -> Remedy | None:
    """The remedy in conda's words for a framework that conda installed; None where the tables name no such build."""
    listed = {item.name: item for item in found.python.distributions if item.installer == "conda"}
    own = listed.get("pytorch")
    if found.framework.name != "pytorch" or own is None:
        return None
    if _FORGES_OWN in listed and (of_forge := _by_forge(environment, matrix, found, listed)):
        return of_forge
    row = _row(environment, matrix, release(own.version))
    if row is None:
        return None
    removal = [run("conda", "remove", *_place(found), *(name for name in _CPU_CHOICE if name in listed))]
    return Remedy(
        f"{_KEEP} PyTorch {row.version} for CUDA {row.cuda}. Keep the channels in the command: from a different "
        "channel, conda may install the CPU build again.",
        (
            *(removal if any(name in listed for name in _CPU_CHOICE) else ()),
            _installed(found, row, listed),
        ),
    )


def _by_forge(environment: Environment, matrix: Matrix, found: Installed, listed: Container[str]) -> Remedy | None:
    """The same release with CUDA from conda-forge, in place; None where that release is too old for a GPU here.

    conda-forge builds a release for about the CUDA that its wheels have: those say which GPUs it supports.
    """
    version = release(found.framework.version)
    takes = taken(environment, matrix)
    if not any(row.version == version and row.cuda and takes(row.cuda) for row in matrix.builds("pytorch")):
        return None
    specs = (f"pytorch={version}=cuda*", *((_VISION_OF_FORGE,) if _name(_VISION_OF_FORGE) in listed else ()))
    return Remedy(
        f"{_KEEP} PyTorch {version}, the same release, for CUDA: conda-forge marks its CUDA builds by their build "
        "string, and conda chooses the one that the driver supports.",
        (run("conda", "install", *_place(found), "-c", _FORGE, *map(CONDA_SPEC, specs)),),
    )


def _installed(found: Installed, row: CondaBuild, listed: Container[str]) -> Command:
    """The command for this build, with those of its packages that are there already."""
    wanted = (line for line in row.requirements if _name(line) in listed or _name(line) in _ALWAYS)
    channels = (word for channel in row.channels for word in ("-c", NAME(channel)))
    return run("conda", "install", *_place(found), *channels, *(CONDA_SPEC(_with_build(line, row)) for line in wanted))


def _place(found: Installed) -> tuple[Word, ...]:
    return ("-p", PATH(found.python.prefix)) if found.python.prefix else ()


def conda_swap(environment: Environment, matrix: Matrix, found: Installed, build: FrameworkBuild) -> Remedy | None:
    """The same release for another CUDA by conda, where conda brought PyTorch; None where no row has it."""
    listed = {item.name for item in found.python.distributions if item.installer == "conda"} or _told(environment)
    row = next(
        (
            row
            for row in read(CondaBuild)
            if row.framework == found.framework.name
            and row.version == build.version == release(found.framework.version)
            and build.cuda is not None
            and row.cuda == build.cuda.release(2)
        ),
        None,
    )
    if row is None or "pytorch" not in listed or found.framework.cuda is None:
        return None
    return Remedy(
        f"PyTorch {row.version} for CUDA {row.cuda}, the same release; conda replaces the installed build in one "
        "step. A cuda module of a different release is not needed: conda's PyTorch includes its own CUDA.",
        (_installed(found, row, listed),),
    )


def _told(environment: Environment) -> set[str]:
    """The packages of the command with which somebody says that conda installed PyTorch."""
    words = named(seen(environment, "arch-newer-than-build", "detail-by-conda"), "packages") or ""
    return {word.partition("=")[0] for word in words.split()} & {"pytorch", "torchvision", "torchaudio"}


def _with_build(line: str, row: CondaBuild) -> str:
    """The framework by its build string: with its release alone, the solver may keep the CPU build."""
    return f"pytorch={row.version}=*cuda{row.cuda}*" if _name(line) == "pytorch" else line


def _name(line: str) -> str:
    return line.partition("=")[0]


def _row(environment: Environment, matrix: Matrix, version: Version | None) -> CondaBuild | None:
    """The newest CUDA of that release which these GPUs and the driver take."""
    takes = taken(environment, matrix)
    fitting = [row for row in read(CondaBuild) if row.version == version and takes(row.cuda)]
    return max(fitting, key=lambda row: row.cuda, default=None)


def taken(environment: Environment, matrix: Matrix) -> Callable[[Version], bool]:
    """Whether these GPUs and the driver take what a CUDA release builds."""
    from envkit.compat.gpu import cuda_span

    firsts = [cuda_span(own, matrix)[0] for _, own in capable_gpus(environment, matrix)]
    lowest = max((first.release(2) for first in firsts if first is not None), default=None)
    limit = environment.driver.driver_cuda_version.value
    return lambda cuda: (lowest is None or cuda >= lowest) and (limit is None or cuda.major <= limit.major)


def of_forge(environment: Environment) -> Remedy | None:
    """The remedy where the text shows a CPU build of conda-forge, whose build strings name CUDA."""
    lines = said(environment, "cpu-only-wheel")
    match = _OF_FORGE.search(lines)
    if match is None and not (managed_by(environment, "conda", "mamba") and _BUILD_OF_FORGE.search(lines)):
        return None
    specs = (f"pytorch={match['version'] if match else '*'}=cuda*", _VISION_OF_FORGE)
    install: Command = run("conda", "install", "-c", _FORGE, *map(CONDA_SPEC, specs))
    return Remedy(
        "conda's solver may choose the CPU build of either package: request CUDA builds by their build string, in "
        "the environment that has the CPU build (conda activate it first). The same two specifications work in conda "
        "create and environment.yml. On a machine without a GPU, such as an image build, also set "
        "CONDA_OVERRIDE_CUDA to the CUDA version that nvidia-smi shows on the machine with the GPU: without a driver, "
        "the solver rejects CUDA builds. If conda finds no such pair, mamba often finds another one.",
        (install,),
    )
