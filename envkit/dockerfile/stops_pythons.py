"""Where a build stops because a pinned release is not for the image's Python: packages of which only that is known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import least_python
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stops_releases import elsewhere, from_default_index
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.source_stops import PackagePythons

_PIN = regex(r"={2,3}(\d{1,4}(?:\.\d{1,4}){1,3})")
_FLOOR = regex(r">=(\d{1,4}(?:\.\d{1,4}){0,3})")


def release_for_other_python(ground: Ground) -> Iterator[Finding]:
    """The first package of each command whose release pip does not find for this Python."""
    if elsewhere(ground):
        return
    for step in ground.steps:
        if not step.command.decisive:
            continue
        for package in step.packages:
            found = _other(package, step, ground)
            if found is not None:
                yield found
                break


def _other(package: Package, step: Step, ground: Ground) -> Finding | None:
    if not package.spec or not from_default_index(package):
        return None
    rows = _rows().get(normalized(package.name), ())
    exact = ground.pythons.of(package.caller, step.place) if rows else None
    python = exact or (least_python(ground) if rows else None)
    if python is None or python.release(2) < limit("python-of-pip-with-requires-python"):
        return None
    row = _pinned(rows, package.spec) or (_least(rows, package.spec, python) if exact is not None else None)
    if row is None or not _is_left_out(row, python, certain=exact is not None):
        return None
    image = f"the image has Python {python}" if exact is not None else f"the image has Python {python} or newer"
    return stop(
        faults.PYTHON_WITHOUT_PACKAGE,
        f"{package.asked} is for Python {row.pythons.replace(',', ', ')}, and {image}",
        package_subject(package),
        impact="The build stops with 'No matching distribution found'.",
        fix=f"Use a {package.name} release for that Python, or another Python version.",
        sources=row.sources,
    )


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[PackagePythons, ...]]:
    found: dict[str, tuple[PackagePythons, ...]] = {}
    for row in read(PackagePythons):
        found[row.package] = (*found.get(row.package, ()), row)
    return found


def _pinned(rows: tuple[PackagePythons, ...], spec: str) -> PackagePythons | None:
    pin = _PIN.fullmatch(spec)
    if pin is None:
        return None
    version = Version.parse(pin[1])
    return next((row for row in rows if VersionSpec.parse(row.versions).holds(version)), None)


def _least(rows: tuple[PackagePythons, ...], spec: str, python: Version) -> PackagePythons | None:
    """The row of the oldest release that is taken, where it and all later ones are for newer Pythons."""
    floor = _FLOOR.fullmatch(spec)
    if floor is None:
        return None
    version = Version.parse(floor[1])
    at = next((at for at, row in enumerate(rows) if VersionSpec.parse(row.versions).holds(version)), None)
    if at is None:
        return None
    return rows[at] if all(_is_for_newer(row, python) for row in rows[at:]) else None


def _is_for_newer(row: PackagePythons, python: Version) -> bool:
    bounds = VersionSpec.parse(row.pythons).clauses
    return any(operator == ">=" and python.release(2) < bound for operator, bound in bounds)


def _is_left_out(row: PackagePythons, python: Version, *, certain: bool) -> bool:
    """Whether the Python is outside the row's; one that may be newer is so only beyond its end."""
    bounds = VersionSpec.parse(row.pythons).clauses
    beyond = any(operator == "<" and python.release(2) >= bound for operator, bound in bounds)
    return beyond or (certain and _is_for_newer(row, python))
