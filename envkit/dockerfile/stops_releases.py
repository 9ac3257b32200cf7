"""Where a build stops because no release that a requirement allows is for the image's Python."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.package_wheels import package_has_wheel, wheels_of
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.common_python import newest_for_all, pythons_of_torch, takes
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.tables.build_tools import GoneRelease
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LINUX = "linux"
_PIN = regex(r"={2,3}(\d{1,4}(?:\.\d{1,4}){1,3})")
_MIRROR = regex(r"pypi[^ ]{0,80}/simple/?$|pypi\.org")
_OTHER_PLACES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL")


def release_missing(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first package of each command of which pip finds no release: no wheel fits, and no source takes the Python.

    The frameworks themselves are judged by their builds.
    """
    if elsewhere(ground):
        return
    judged = {name for row in matrix.frameworks for name in row.packages}
    for step in ground.steps:
        if step.command.decisive:
            yield from _first(step, ground, judged)


def _first(step: Step, ground: Ground, judged: set[str]) -> Iterator[Finding]:
    for package in step.packages:
        name = normalized(package.name)
        if name in judged or not from_default_index(package) or not package.spec:
            continue
        python = ground.pythons.of(package.caller, step.place)
        if python is None:
            continue
        verdict = package_has_wheel(name, package.spec, _LINUX, ground.base.architecture, python)
        if verdict is None or verdict.relation != "python-has-wheel":
            continue
        if verdict.status == "fail" or _left_behind(name, python):
            yield stop(
                faults.PYTHON_WITHOUT_PACKAGE,
                verdict.detail,
                package_subject(package),
                impact="The build stops with 'No matching distribution found'.",
                fix=_other_python(package, ground, python),
                sources=verdict.sources,
            )
            return


def _other_python(package: Package, ground: Ground, python: Version) -> str:
    """A Python for all that the file pins; another release of the package helps only where the rest takes this one."""
    packages = [one for step in ground.steps for one in step.packages]
    architecture = ground.base.architecture
    own = [one for one in pythons_of_torch(lambda _: True) if _has_wheel(package, architecture, one)]
    best = newest_for_all(packages, architecture, own) if own else None
    way = f"Use a supported Python version{f', such as {best}' if best is not None else ''}"
    rest = (one for one in packages if one.spec and normalized(one.name) != normalized(package.name))
    if not all(takes(one, architecture, python.release(2)) for one in rest):
        return f"{way}."
    return f"{way}, or a {package.name} release that supports Python {python}."


def _has_wheel(package: Package, architecture: str, python: Version) -> bool:
    """Whether the release that is asked for has a wheel for a Python, rather than a source that pip may compile."""
    return package_has_wheel(normalized(package.name), package.spec, _LINUX, architecture, python) is None


def release_gone(ground: Ground) -> Iterator[Finding]:
    """The first package that is pinned to a release which the default index does not have."""
    rows = read(GoneRelease)
    if elsewhere(ground):
        return
    for step in ground.steps:
        for package in step.packages if step.command.decisive else ():
            pin = _PIN.fullmatch(package.spec)
            if not from_default_index(package):
                continue
            name, version = normalized(package.name), Version.parse(pin[1]) if pin is not None else None
            row = next((one for one in rows if one.package == name and _is_gone(one, version)), None)
            if row is not None:
                yield stop(
                    faults.FRAMEWORK_VERSION,
                    f"PyPI has no {package.name} {pin[1]}" if pin is not None else f"PyPI has no {package.name}",
                    package_subject(package),
                    impact="The build stops with 'No matching distribution found'.",
                    fix=f"Pin a release of {package.name} that exists.",
                    sources=row.sources,
                )
                return


def _is_gone(row: GoneRelease, pin: Version | None) -> bool:
    """True for a release that there is not, and for any of a package that there is not at all."""
    return not row.versions or (pin is not None and VersionSpec.parse(row.versions).holds(pin))


def _left_behind(name: str, python: Version) -> bool:
    """True for a Python that the newest releases of a package no longer take; those to come do not either."""
    bounds = VersionSpec.parse(wheels_of(name)[-1].requires_python).clauses
    return any(operator == ">=" and python.release(2) < bound for operator, bound in bounds)


def elsewhere(ground: Ground) -> bool:
    """True where the environment names other places for packages than the default index."""
    return any(name in ground.environment for name in _OTHER_PLACES)


def from_default_index(package: Package) -> bool:
    """True for a package that pip certainly takes from the default index alone, or from a mirror of it."""
    places = package.places
    return (
        package.tool == "pip"
        and package.wheel is None
        and not (package.marker or package.held or places.more or places.nightly)
        and (not places.index or _is_mirror(places.index))
    )


@lru_cache(maxsize=64)
def _is_mirror(index: str) -> bool:
    """True for the default index and what has its name; one line may give thousands of packages the same address."""
    return _MIRROR.search(index) is not None
