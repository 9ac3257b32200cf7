"""Packages that require each other in certain versions: torchvision, vLLM and xFormers of torch, torch of Triton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache

from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import Requirement, requirements_of
from envkit.compat.software import some_version_meets
from envkit.compat.verdict import Verdict
from envkit.tables.loader import read
from envkit.tables.pairs import PackageExtra, PackagePair

Holds = Callable[[str], bool]

# Their metadata require nothing of the other package: the project names what it tested, and the import warns of others.
TESTED_ONLY = ("tensorflow-addons",)


@lru_cache(maxsize=1)
def pairs_by_package() -> Mapping[str, tuple[PackagePair, ...]]:
    """The rows of each package, oldest release first."""
    found: dict[str, list[PackagePair]] = {}
    for row in read(PackagePair):
        found.setdefault(row.package, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def required(row: PackagePair) -> tuple[Requirement, ...]:
    """What a release requires of the others."""
    return requirements_of(row.requires or ())


def allows(rows: Iterable[PackagePair], package: str, version: Version) -> bool:
    """Whether one of these releases goes with that version of another package."""
    return any(all(line.spec.holds(version) for line in required(row) if line.package == package) for row in rows)


def pair_agrees(
    rows: tuple[PackagePair, ...],
    wanted: str,
    others: Mapping[str, tuple[str, VersionSpec]],
    *,
    where: str = "also requested",
) -> Verdict:
    """Whether a release that a requirement allows goes with what is asked of other packages, or there already.

    `rows` are those releases, `wanted` the requirement in words, `others` each package with its requirement.
    """
    clashes = [_clash(row, others) for row in rows]
    sources = rows[-1].sources if rows else ()
    if rows and all(clashes):
        line, other = next(filter(None, reversed(clashes)))
        tested = rows[-1].package in TESTED_ONLY
        needs, relation = ("was tested only with", "pair-tested") if tested else ("requires", "pair-agrees")
        detail = f"{rows[-1].package} {rows[-1].version} {needs} {line}, but {other} is {where}"
        return Verdict(relation, "fail", detail, sources)
    return Verdict("pair-agrees", "ok" if rows else "unknown", f"{wanted} matches the other requirements", sources)


def needed_of(rows: tuple[PackagePair, ...], others: Mapping[str, tuple[str, VersionSpec]]) -> str:
    """What the newest of these releases requires that none of the others' requirements allows; '' for nothing."""
    found = _clash(rows[-1], others) if rows else None
    return found[0] if found is not None else ""


def newest_beside(rows: Iterable[PackagePair], others: Mapping[str, tuple[str, VersionSpec]]) -> str:
    """The newest of a package's releases that needs something of the others and goes with all; '' for none."""
    return next(fitting_beside(rows, others), "")


def fitting_beside(rows: Iterable[PackagePair], others: Mapping[str, tuple[str, VersionSpec]]) -> Iterator[str]:
    """The releases of a package that need something of the others and go with all, newest first."""
    for row in reversed(tuple(rows)):
        if not _clash(row, others) and _needs_any(row, others):
            yield row.version


def _needs_any(row: PackagePair, others: Mapping[str, tuple[str, VersionSpec]]) -> bool:
    return any(line.package in others for line in required(row))


def _clash(row: PackagePair, others: Mapping[str, tuple[str, VersionSpec]]) -> tuple[str, str] | None:
    for line in required(row):
        other = others.get(line.package)
        if other is not None and not some_version_meets((line.spec, other[1])):
            return line.line, other[0]
    return None


@lru_cache(maxsize=1)
def _extras() -> Mapping[str, tuple[PackageExtra, ...]]:
    found: dict[str, list[PackageExtra]] = {}
    for row in read(PackageExtra):
        found.setdefault(row.package, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def with_extras(package: str, extras: Iterable[str], holds: Holds) -> tuple[PackagePair, ...]:
    """The releases in the data whose number a requirement applies to, as these extras of a package make them."""
    return tuple(
        PackagePair(package, row.version, row.requires, row.sources)
        for row in _extras().get(package, ())
        if holds(row.version) and not set(extras).isdisjoint(row.extras)
    )


def meeting(package: str, holds: Holds) -> tuple[PackagePair, ...]:
    """The releases in the data whose number a requirement applies to."""
    return tuple(row for row in pairs_by_package().get(package, ()) if holds(row.version))


def extra_releases(package: str, holds: Holds) -> tuple[tuple[str, PackagePair], ...]:
    """The releases in the data of which an extra requires something, each with the first such extra."""
    return tuple(
        (row.extras[0], PackagePair(package, row.version, row.requires, row.sources))
        for row in _extras().get(package, ())
        if holds(row.version)
    )


def releases_beside(package: str, host: str, spec: VersionSpec) -> list[str]:
    """The releases of a package that are made for these versions of another, oldest first.

    An open bound says nothing of what came later, so those that are bound from above count alone.
    """
    return [
        row.version
        for row in pairs_by_package().get(package, ())
        if any(
            line.package == host and is_bounded(line.spec) and some_version_meets((line.spec, spec))
            for line in required(row)
        )
    ]


@cache
def beside_torch(package: str) -> Mapping[str, frozenset[Version]]:
    """The releases of a package that others require exactly, each with the releases of torch that they require."""
    found: dict[str, set[Version]] = {}
    extras = (PackagePair(one.package, one.version, one.requires, one.sources) for one in read(PackageExtra))
    for row in (*extras, *read(PackagePair)):
        exact = {line.package: line.spec.exact for line in required(row) if line.spec.exact is not None}
        own, torch = exact.get(package), exact.get("torch")
        if own is not None and torch is not None:
            found.setdefault(str(own), set()).add(torch)
    return {version: frozenset(torches) for version, torches in found.items()}


def pinned_beside(package: str, torch: Version) -> list[str]:
    """The releases of a package that others require exactly together with this torch and no other, oldest first."""
    return [version for version, torches in beside_torch(package).items() if torches == {torch}]


def is_bounded(spec: VersionSpec) -> bool:
    """Whether a requirement ends somewhere."""
    return spec.exact is not None or any(sign in ("<", "<=") for sign, _ in spec.clauses)
