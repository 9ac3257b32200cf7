"""The installation that failed, once more: with the packages, files and programs that the text names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import FILE, REQUIREMENT, Command, Word, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ON_JETSON = (
    "There is not enough memory for several compilers: add a swap file (the first command makes one of 8 GB, "
    "until the next restart), and continue with one compiler, in the build directory; what is compiled already stays. "
    "If a script starts the build, change the number after make -j in it. To undo it: sudo swapoff /swapfile, and "
    "delete the file."
)
_WITHOUT = ("python", "-m", "pip", "install", "--no-build-isolation")
_FEW = "Run fewer compilers at a time; with less than 16 GB of memory, only one"


def without_isolation(environment: Environment, matrix: Matrix) -> Remedy:
    """What failed, built in the environment that has torch; where nothing tells what it was, in words."""
    words, again = _target(environment)
    build = fixed("python -m pip install setuptools wheel ninja packaging psutil")
    if not words:
        return Remedy(
            "Install the build requirements into the environment, then rerun your install command in it, adding "
            "--no-build-isolation right after the word install.",
            (build,),
        )
    return Remedy(
        f"Install the build requirements into the environment, then build without isolation.{again}",
        (build, run(*_WITHOUT, *words)),
    )


def _target(environment: Environment) -> tuple[tuple[Word, ...], str]:
    """What pip is to install, by its words; and what is left to do then."""
    id = "build-isolation-hides-torch"  # noqa: A001 - as in reports
    messages = (*seen(environment, id, "detail-sdist", "detail-uv"), *seen(environment, id))
    told, version = named(messages, "package"), named(messages, "version")
    file, uv = named(seen(environment, id, "detail-file"), "file"), seen(environment, id, "detail-uv")
    if told:
        package = told.replace("_", "-")
        words = (REQUIREMENT(f"{package}=={version}" if version else package),)
        return words, " Then install the rest of the requirements file that named it." if file or not uv else ""
    if file:
        return ("-r", FILE(file)), ""
    if known := named(seen(environment, id, "detail-known"), "package"):
        return (REQUIREMENT(known.lower().replace("_", "-")),), " Then repeat the command that failed."
    return (), ""


def fewer_compilers(environment: Environment, matrix: Matrix) -> Remedy:
    """By the program that started the compilers."""
    id = "build-out-of-memory"  # noqa: A001 - as in reports
    package = named(seen(environment, id, "detail-wanted", "detail-package"), "package")
    if package is None and seen(environment, id, "detail-make"):
        if environment.system.machine_kind.value is MachineKind.JETSON or seen(environment, id, "detail-small"):
            return remedy(environment, _ON_JETSON, "swap-file", "make-alone")
        return Remedy(f"{_FEW} (-j1).", (fixed("make -j2"),))
    if package is None and seen(environment, id, "detail-cmake"):
        return Remedy(
            f"{_FEW} (--parallel 1). Run it in the directory that contains the build directory, here called build.",
            (fixed("cmake --build build --parallel 2"),),
        )
    if package is None:
        return Remedy(
            f"{_FEW} (MAX_JOBS=1). Set the variable, then repeat the command that failed in the same shell.",
            (_few(),),
        )
    return Remedy(
        f"{_FEW} (MAX_JOBS=1). If it was an installation from a source directory (-e .), repeat that command in the "
        "same shell instead of the second one.",
        (_few(), run(*_WITHOUT, REQUIREMENT(package))),
    )


def _few() -> Command:
    return export("MAX_JOBS", "2")
