"""What packages require that no framework holds back: the bounds that a plan has to add of its own."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.compat.package_breaks import first_broken
from envkit.compat.packages import requirement_of
from envkit.tables.loader import read
from envkit.tables.pairs import PackageNeed
from envkit.tables.rows import FrameworkBuild


def bounds_beside(package: str, release: str, build: FrameworkBuild) -> tuple[str, ...]:
    """The bounds of what a release requires, where the newest of it breaks next to a build: `transformers<4.52`."""
    return tuple(dict.fromkeys(_bounds(package, release, build)))


def _bounds(package: str, release: str, build: FrameworkBuild) -> Iterator[str]:
    own = Version.find(release)
    for row in read(PackageNeed, holding=f"{package},"):
        first, last = Version.find(row.first), Version.find(row.last)
        if row.package != package or row.marker or own is None or first is None or last is None:
            continue
        needed = requirement_of(row.requires) if first <= own <= last else None
        broken = first_broken(needed.package, build) if needed is not None else None
        if needed is not None and broken is not None:
            yield f"{needed.package}<{broken}"


def newest_beside(package: str, host: str, version: Version) -> str | None:
    """The newest release whose metadata accept a version of a host, where those of the newest release do not."""
    rows = [
        (Version.find(row.last), row.last, needed.spec.holds(version))
        for row in read(PackageNeed, holding=f"{package},")
        if row.package == package
        and not row.marker
        and (needed := requirement_of(row.requires)) is not None
        and needed.package == host
    ]
    known = sorted((last, text, holds) for last, text, holds in rows if last is not None)
    if not known or known[-1][2]:
        return None
    return next((text for _, text, holds in reversed(known) if holds), None)
