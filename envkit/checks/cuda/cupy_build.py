"""CuPy that was built for another CUDA than the one that is there: its package for that one, or a build of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.cuda.named_release import installed_toolkits
from envkit.checks.engine.command import NAME, REQUIREMENT, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.frameworks.installs import for_this_machine, installs, judged, named_python, pip, release
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_ID = "libcudart-missing"
_RUNTIME = regex(r"libcudart\.so\.(?P<version>\d{1,2}(?:\.\d{1,2})?)")
_OF_SYSTEM = "/usr/lib/python"  # where a distribution's packages are, which pip must not change


def of_cupy(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where CuPy is what looks for the library; None for other programs, or if nothing tells the CUDA."""
    paths = seen(environment, _ID, "detail-cupy")
    item = next(installs(environment, "cupy"), None)
    if not paths and item is None:
        return None
    own = release(item.framework.version) if item is not None else None
    rows = matrix.builds("cupy")
    if own is not None and own < min(row.version for row in rows):
        return Remedy(
            f"CuPy {own} is compiled when it is installed, for the CUDA that it finds then. An installation of a few "
            "seconds compiled nothing: pip took the build from its cache, which was made for the CUDA of that time. "
            "Compile it for the one that is here (it takes minutes); a link to another release's file, or that old "
            "release of CUDA, is no cure.",
            (
                pip(
                    named_python(environment),
                    *("install", "--no-cache-dir", "--force-reinstall", "--no-deps"),
                    REQUIREMENT(f"cupy=={own}"),
                ),
            ),
        )
    row = _fitting(environment, list(rows), own)
    if row is None or not row.package:
        return None
    package = row.package.partition("==")[0]
    why = f"CuPy is built for another CUDA than the {row.cuda} on this machine; {package} is its package for that one."
    if any(_OF_SYSTEM in one.text for one in paths):
        return Remedy(
            f"{why} A link would only move the error to the next library. The distribution's package follows when its "
            "maintainers build it anew: update the whole system first, and try again. Until then, install CuPy into "
            "an environment of its own, which the commands make in the directory cupy-env, and start programs with "
            "cupy-env/bin/python. The system's packages are visible in it.",
            (
                fixed("python -m venv --system-site-packages cupy-env"),
                run("cupy-env/bin/python", "-m", "pip", "install", REQUIREMENT(row.package)),
                fixed("cupy-env/bin/python -c 'import cupy; cupy.show_config()'"),
            ),
        )
    python = named_python(environment)
    names = {"cupy", *(one.name for each in judged(environment) for one in each.distributions if "cupy" in one.name)}
    return Remedy(
        f"{why} Only one of CuPy's packages may be installed: remove the others first. No other CUDA is needed, and a "
        "link would only move the error to the next library.",
        (
            pip(python, "uninstall", "-y", *(NAME(name) for name in sorted(names))),
            pip(python, "install", REQUIREMENT(row.package)),
        ),
    )


def _there(environment: Environment) -> set[Version]:
    """The CUDA releases whose runtime is on the disk."""
    names = " ".join(one.values.get("found", "") for one in seen(environment, _ID, "detail-found"))
    listed = {Version.parse(match["version"]) for match in _RUNTIME.finditer(names)}
    files = seen(environment, _ID, "detail-toolkit-file")
    return installed_toolkits(environment) | listed | {Version.parse(one.values["release"]) for one in files}


def _fitting(environment: Environment, rows: list[FrameworkBuild], own: Version | None) -> FrameworkBuild | None:
    """The build for a CUDA that is there: of the installed release or the next one, of the newest if none is known."""
    there = _there(environment)
    pythons = {python.version.release(2) for python in judged(environment) if python.version is not None}
    fitting = [
        row
        for row in rows
        if row.cuda is not None and any(_serves(row.cuda, one) for one in there)
        if for_this_machine(environment, row) and not row.yanked
        if not pythons or not pythons.isdisjoint(row.pythons)
        if own is None or row.version >= own
    ]
    if own is not None:
        return min(fitting, key=lambda row: row.version, default=None)
    return max(fitting, key=lambda row: row.version, default=None)


def _serves(built: Version, there: Version) -> bool:
    """Whether a build for `built`, which may be a major release alone, runs with the CUDA that is there."""
    return there.major == built.major and (len(built.parts) == 1 or built.release(2) == there.release(2))
