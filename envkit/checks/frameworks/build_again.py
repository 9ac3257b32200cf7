"""The installation that failed, once more: with the packages, files and programs that the text names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import FILE, GIT_URL, NAME, NUMBER, REQUIREMENT, Command, Word, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy
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
_ON_WINDOWS = (
    " pip then compiles it, which needs nvcc of torch's CUDA (CUDA_HOME) and the C++ workload of Visual Studio: run "
    "the commands in the x64 Native Tools prompt, with the environment active. Without them, only a wheel for this "
    "torch, CUDA, and Python helps, if somebody offers one for Windows."
)
_REST_OF_FILE = " Then install the rest of the requirements file that named it."
_REPEAT_IF_ASKED_BY_OTHERS = " If another package or project requires it, repeat the command that failed afterward."
_ONE = "Run one compiler at a time; what is compiled already stays. With 16 GB of memory or more, a few also fit"
_FEW = "Run fewer compilers at a time, about one for each 12 GB of memory; with less than 16 GB of memory, only one"


def without_isolation(environment: Environment, matrix: Matrix) -> Remedy:
    """What failed, built in the environment that has torch; where nothing tells what it was, in words."""
    words, again, rest = _target(environment)
    if managed_by(environment, "uv") and (given := _by_uv(environment)):
        return given
    build = fixed("python -m pip install setuptools wheel ninja packaging psutil")
    if not words:
        return Remedy(
            "Install the build requirements into the environment, then rerun your install command in it, adding "
            "--no-build-isolation right after the word install.",
            (build,),
        )
    compiled = _ON_WINDOWS if on_windows(environment) else ""
    return Remedy(
        f"Install the build requirements into the environment, then build without isolation.{again}{compiled}",
        (build, run(*_WITHOUT, *words), *((run(*_WITHOUT, "-r", FILE(rest)),) if rest else ())),
    )


def _by_uv(environment: Environment) -> Remedy | None:
    """uv builds apart what the project file does not exempt, and undoes an addition whose build fails."""
    told = named(seen(environment, "build-isolation-hides-torch", "detail-uv"), "package")
    name = NAME(told.lower().replace("_", "-")) if told else None
    if not isinstance(name, str):
        return None
    return Remedy(
        f"uv builds {name} in an environment without torch. In pyproject.toml, under [tool.uv], add the line "
        f'no-build-isolation-package = ["{name}"], and add setuptools, wheel, ninja, packaging, and psutil to the '
        "project's dependencies (torch is one already). The first command installs everything else, and so torch and "
        f"these tools; the second then builds {name} with them. That needs nvcc of torch's CUDA (CUDA_HOME), but no "
        "GPU; a wheel of the project's release page for this torch and Python needs no compiler.",
        (run("uv", "sync", "--no-install-package", NAME(name)), fixed("uv sync")),
    )


def _target(environment: Environment) -> tuple[tuple[Word, ...], str, str]:
    """What pip is to install, by its words; what is left to do then, and the file of requirements that has the rest."""
    id = "build-isolation-hides-torch"  # noqa: A001 - as in reports
    messages = (*seen(environment, id, "detail-sdist", "detail-uv"), *seen(environment, id))
    told, version = named(messages, "package"), named(messages, "version")
    file, uv = named(seen(environment, id, "detail-file"), "file"), seen(environment, id, "detail-uv")
    if told:
        package = told.replace("_", "-")
        words = (REQUIREMENT(f"{package}=={version}" if version else package),)
        rest = _REST_OF_FILE if file else _REPEAT_IF_ASKED_BY_OTHERS if uv else ""
        return words, rest, file or ""
    if file:
        return ("-r", FILE(file)), "", ""
    if known := named(seen(environment, id, "detail-known"), "package"):
        return (REQUIREMENT(known.lower().replace("_", "-")),), " Then repeat the command that failed.", ""
    asked = seen(environment, id, "detail-asked")
    if pinned := named(asked, "package"):
        return (REQUIREMENT(pinned),), "", ""
    if url := named(seen(environment, id, "detail-git"), "url"):
        return (GIT_URL(url),), "", ""
    if asked:
        return (("-e", ".") if named(asked, "editable") else (".",)), "", ""
    return (), "", ""


def fewer_compilers(environment: Environment, matrix: Matrix) -> Remedy:
    """By the program that started the compilers."""
    id = "build-out-of-memory"  # noqa: A001 - as in reports
    package = named(seen(environment, id, "detail-wanted", "detail-package"), "package")
    if package is None and seen(environment, id, "detail-make"):
        if environment.system.machine_kind.value is MachineKind.JETSON or seen(environment, id, "detail-small"):
            return remedy(environment, _ON_JETSON, "swap-file", "make-alone")
        return Remedy(f"{_ONE} (-j2, -j4).", (fixed("make -j1"),))
    if package is None and seen(environment, id, "detail-cmake"):
        return Remedy(
            f"{_FEW} (--parallel 1). Run it in the directory that contains the build directory, here called build.",
            (fixed("cmake --build build --parallel 2"),),
        )
    if package is None:
        return Remedy(
            f"{_FEW} (MAX_JOBS=1). Set the variable, then repeat the command that failed in the same shell.",
            (_few(environment),),
        )
    return Remedy(
        f"{_FEW} (MAX_JOBS=1). If it was an installation from a source directory (-e .), repeat that command in the "
        "same shell instead of the second one.",
        (_few(environment), run(*_WITHOUT, REQUIREMENT(package))),
    )


_EACH = 12_000_000_000  # bytes that one compiler of CUDA code may take
_MOST = 16


def _few(environment: Environment) -> Command:
    """As many compilers as the memory has room for; two where nobody tells how much there is."""
    memory = environment.system.memory_bytes.value
    return export("MAX_JOBS", NUMBER(min(max(1, memory // _EACH), _MOST) if memory else 2))
