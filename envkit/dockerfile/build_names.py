"""Under which names of a package pip takes a build of a framework."""

from __future__ import annotations

from functools import cache

from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import Release, Wish, package_name
from envkit.tables.loader import read
from envkit.tables.names import EmptiedPackage, MetaPackage
from envkit.tables.rows import FrameworkBuild


def has_name(build: FrameworkBuild, wanted: Wanted) -> bool:
    """True for the package that is named, under another name too; conda has one name where an index has several."""
    own = package_name(build)
    if wanted.tool == "pip":
        row = _emptied(wanted.package)
        alias = row is not None and own == row.same_as and row.same_since <= build.version < row.first_empty_version
        return own == wanted.package or alias or any(_is_through(build, row) for row in _meta_packages(wanted.package))
    return own == wanted.package or wanted.package in (wanted.framework, f"{wanted.framework}-gpu")


def _is_through(build: FrameworkBuild, row: MetaPackage) -> bool:
    """True for a build that a package only requires."""
    named = package_name(build) == row.same_as and row.since <= build.version
    return named and (row.before is None or build.version < row.before)


@cache
def _meta_packages(package: str) -> tuple[MetaPackage, ...]:
    return tuple(row for row in read(MetaPackage) if row.package == package)


def is_empty(wanted: Wanted, wish: Wish) -> bool:
    """True when what pip takes is a package that was emptied: the newest release is, and asks for no Python."""
    row = _emptied(wanted.package)
    if row is None:
        return False
    if wish.exact is not None:
        return wish.exact.numbers >= row.first_empty_version
    return wish.holds(Release(row.first_empty_version))


@cache
def _emptied(package: str) -> EmptiedPackage | None:
    return next((row for row in read(EmptiedPackage) if row.package == package), None)
