"""Packages that carry a CUDA in their name: no Python has wheels of a name that was never published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.engine.command import REQUIREMENT
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import capable_gpus, first_python, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_BOARDS = ("Jetson AGX Xavier", "Jetson AGX Orin")  # the most frequent one last
_NAMED = regex(r"(?P<stem>[a-z][a-z0-9-]{1,40})-cu(?P<major>\d\d)(?P<minor>\d)")


def of_its_own_name(environment: Environment, matrix: Matrix, package: str) -> Remedy:
    """For a package that is no framework: another name where this one does not exist, otherwise another Python."""
    return (
        _of_no_processor(environment, matrix, package)
        or _of_nearest_cuda(environment, package)
        or Remedy(f"Create an environment with a Python that {package} has wheels for (see its documentation).")
    )


def _of_no_processor(environment: Environment, matrix: Matrix, package: str) -> Remedy | None:
    """A source build where none of its wheels is for this processor; None where one is, or where none is on record."""
    from envkit.compat.package_wheels import place_of, pythons_listed, wheels_of

    processor = environment.system.architecture.value or ""
    rows = wheels_of(package)
    if processor in ("", "x86_64") or not rows or pythons_listed(rows, place_of("linux", processor)):
        return None
    why = (
        f"The package index has no wheel of {package} for {processor}, for any Python: a different Python does not "
        "help. Build it from source on this machine, with the compiler and the nvcc that are there"
    )
    if not package.startswith("spconv"):
        return Remedy(f"{why}, as its project's documentation says, or use a container for this processor that has it.")
    python = first_python(environment)
    boards = {name: str(gpu.compute_capability) for name in _BOARDS for gpu in matrix.gpus if gpu.name.startswith(name)}
    own = next((str(own) for _, own in capable_gpus(environment, matrix)), "")
    which = f" ({series(f'{number} for a {name}' for name, number in boards.items())})" if not own else ""
    return Remedy(
        f"{why}: spconv and cumm, on which it is built. CUMM_CUDA_ARCH_LIST is the GPU's compute capability{which}. "
        "Before the fourth command, check out the tag of cumm that spconv's pyproject.toml asks for (the second "
        "command prints its line, the third the tags): git -C cumm checkout TAG. The first import compiles the "
        "kernels, which takes long, and must end without an error.",
        steps(
            environment,
            "spconv-from-source",
            python=python.executable or "python3",
            capability=own or boards[_BOARDS[-1]],
        ),
    )


def _of_nearest_cuda(environment: Environment, package: str) -> Remedy | None:
    """The package of the nearest older CUDA of the same major release, whose programs run on the same driver.

    None where the name is on record itself, so that the Python may be at fault, and where none is near.
    """
    from envkit.compat.package_wheels import has_wheel, wheels_of

    asked = _NAMED.fullmatch(package)
    if asked is None or wheels_of(package):
        return None
    stem, major = asked["stem"], asked["major"]
    older = (f"{stem}-cu{major}{minor}" for minor in range(int(asked["minor"]) - 1, -1, -1))
    name = next((name for name in older if wheels_of(name)), None)
    if name is None:
        return None
    python = first_python(environment)
    place = "windows" if on_windows(environment) else "linux"
    newest = wheels_of(name)[-1]
    release = None if python.version is None else python.version.release(2)
    if not has_wheel(newest, place, environment.system.architecture.value or "x86_64", release):
        return None
    return Remedy(
        f"There is no package {package}, for any Python: the last of its family for CUDA {major} is {name}. It brings "
        f"its own CUDA, so it runs next to a torch for CUDA {major}.{asked['minor']} on the same driver. Install that "
        "one. If it stops with `no kernel image`, it has no code for this GPU: then build the package from source, "
        f"with the toolkit of CUDA {major}.{asked['minor']}, as its documentation says.",
        (pip(python, "install", REQUIREMENT(name)),),
    )
