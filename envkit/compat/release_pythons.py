"""Which Pythons a release of a package is for, where only that is known of it."""

from __future__ import annotations

from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.tables.loader import read
from envkit.tables.source_stops import PackagePythons

_PIN = regex(r"={2,3}(\d{1,4}(?:\.\d{1,4}){1,3})")
_FLOOR = regex(r">=(\d{1,4}(?:\.\d{1,4}){0,3})")


def rows_of(package: str) -> tuple[PackagePythons, ...]:
    """What is known of a package's releases, oldest first."""
    return _rows().get(package, ())


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[PackagePythons, ...]]:
    found: dict[str, tuple[PackagePythons, ...]] = {}
    for row in read(PackagePythons):
        found[row.package] = (*found.get(row.package, ()), row)
    return found


def pinned_row(rows: tuple[PackagePythons, ...], spec: str) -> PackagePythons | None:
    """The row of the release that a pin names."""
    pin = _PIN.fullmatch(spec)
    if pin is None:
        return None
    version = Version.parse(pin[1])
    return next((row for row in rows if VersionSpec.parse(row.versions).holds(version)), None)


def least_row(rows: tuple[PackagePythons, ...], spec: str, python: Version) -> PackagePythons | None:
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


def is_left_out(row: PackagePythons, python: Version, *, certain: bool) -> bool:
    """Whether the Python is outside the row's; one that may be newer is so only beyond its end."""
    bounds = VersionSpec.parse(row.pythons).clauses
    beyond = any(operator == "<" and python.release(2) >= bound for operator, bound in bounds)
    return beyond or (certain and _is_for_newer(row, python))
