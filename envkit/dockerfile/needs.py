"""What pinned packages require of those next to them by the metadata of their wheels, beyond what pairs of them say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from envkit._startup.records import record
from envkit.base.markers import holds
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.compat.package_wheels import place_of, pythons_at, wheels_of
from envkit.compat.packages import lies_in, pip_spec, requirement_of
from envkit.compat.pairs import pair_agrees, pairs_by_package
from envkit.compat.verdict import Verdict
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release
from envkit.tables.loader import read
from envkit.tables.pairs import PackageNeed, PackagePair

_FEW = 4  # look-ups, which together cost as much as reading the table


@record
class Needs:
    """The requirements that an installer on one target goes by; `python` is None where it is not known."""

    python: Version | None
    architecture: str
    platform: str
    apart: frozenset[tuple[int, ...]] = frozenset()  # commands that go by none

    def against(self, one: Package, others: Mapping[str, tuple[str, VersionSpec]]) -> Iterator[tuple[str, Verdict]]:
        """Each requirement of what is asked for that none of the others' requirements allows, with the refusal.

        Of a range, those that each of its releases has.
        """
        release = _pinned(one)
        if one.command in self.apart:
            return
        if release is None:
            yield from self._of_range(one, others)
            return
        name = normalized(one.name)
        for row in _rows_of(name, many=len(others) > _FEW):
            needed = requirement_of(row.requires) if row.package == name else None
            if needed is None or needed.package not in others or not _is_in(release, row):
                continue
            for line in (_plain(row.requires), row.requires):  # what one version is left out of is long to read
                alone = PackagePair(_named(one, row), one.spec.partition("+")[0].lstrip("="), (line,), row.sources)
                verdict = pair_agrees((alone,), one.asked, others)
                if verdict.status == "fail":
                    break
            if verdict.status == "fail" and self._applies(row.marker, one):
                yield line, verdict

    def _of_range(self, one: Package, others: Mapping[str, tuple[str, VersionSpec]]) -> Iterator[tuple[str, Verdict]]:
        name = normalized(one.name)
        in_pairs = name in pairs_by_package()  # whose rows here leave out the releases that are there
        wanted = requirement_of(name + one.spec) if _is_range(one) and not in_pairs else None
        rows = _rows_of(name, many=len(others) > _FEW) if wanted is not None and others else ()
        own = [row for row in rows if row.package == name]
        for needed in dict.fromkeys(
            requirement.package for row in own if (requirement := requirement_of(row.requires))
        ):
            if wanted is None or needed not in others:
                continue
            for chain in _chains(needed, own, lambda row: self._refused(row, one, others)):
                if lies_in(wanted.spec, chain.span):
                    alone = PackagePair(name, one.spec, (chain.rows[-1].requires,), chain.rows[-1].sources)
                    yield chain.rows[-1].requires, pair_agrees((alone,), one.asked, others)
                    break

    def _refused(self, row: PackageNeed, one: Package, others: Mapping[str, tuple[str, VersionSpec]]) -> bool:
        alone = PackagePair(row.package, row.last, (row.requires,), row.sources)
        return pair_agrees((alone,), one.asked, others).status == "fail" and self._applies(row.marker, one)

    def _applies(self, marker: str, one: Package) -> bool:
        """Whether a requirement is for this target: where its Python is not known, on each that the release has."""
        if not marker:
            return True
        known = [self.python] if self.python is not None else list(_pythons(one, self.platform, self.architecture))
        return bool(known) and all(
            any(holds(marker, python, self.architecture, self.platform, extra) for extra in ("", *one.extras))
            for python in known
        )


@record
class _Chain:
    """Rows of one requirement that follow each other without a release between them, and what they span."""

    rows: tuple[PackageNeed, ...]
    span: VersionSpec


def _chains(needed: str, own: Sequence[PackageNeed], refused: Callable[[PackageNeed], bool]) -> Iterator[_Chain]:
    """The chains of rows that are refused, of all that are of what is `needed`; `own` are all of the package.

    Where the next release requires something else of it, a chain reaches up to that one. The same requirement again
    says that there is a release between the two without it.
    """
    bounds = sorted({Release.parse(text).order for row in own for text in (row.first, row.last)})
    rows = sorted(
        (row for row in own if (told := requirement_of(row.requires)) is not None and told.package == needed),
        key=lambda row: Release.parse(row.first).order,
    )
    chain: list[PackageNeed] = []
    for place, row in enumerate(rows):
        if not refused(row):
            chain = []
            continue
        chain = [*chain, row]
        after = rows[place + 1] if place + 1 < len(rows) else None
        follows = (
            after is not None and after.requires != row.requires and _next(row.last, bounds) == _order(after.first)
        )
        upper = f"<{after.first}" if follows and after is not None else f"<={row.last}"
        yield _Chain(tuple(chain), pip_spec(f">={chain[0].first},{upper}"))
        chain = chain if follows else []


def _order(release: str) -> tuple[Version, int]:
    return Release.parse(release).order


def _next(release: str, bounds: Sequence[tuple[Version, int]]) -> tuple[Version, int] | None:
    """The first release after one at which anything changes."""
    return next((bound for bound in bounds if bound > _order(release)), None)


def _is_range(one: Package) -> bool:
    """Whether several releases may be taken of the default index."""
    return one.tool == "pip" and one.wheel is None and bool(one.spec) and "+" not in one.spec


def _rows_of(package: str, *, many: bool) -> tuple[PackageNeed, ...]:
    """The rows that may be of a package; where `many` are looked up, the whole table is read once."""
    return _by_package().get(package, ()) if many else read(PackageNeed, holding=f"{package},")


@cache
def _by_package() -> dict[str, tuple[PackageNeed, ...]]:
    found: dict[str, list[PackageNeed]] = {}
    for row in read(PackageNeed):
        found.setdefault(row.package, []).append(row)
    return {package: tuple(rows) for package, rows in found.items()}


def _plain(requires: str) -> str:
    """A requirement without the single versions that it leaves out."""
    return ",".join(part for part in requires.split(",") if not part.startswith("!="))


def _named(one: Package, row: PackageNeed) -> str:
    """The package as it is asked for, where it is its extra that requires something."""
    name = normalized(one.name)
    return f"{name}[{','.join(one.extras)}]" if "extra ==" in row.marker else name


def _pinned(one: Package) -> Release | None:
    """The one release that is taken by its number, None for others."""
    bare = one.spec.partition("+")[0]
    if one.tool != "pip" or one.wheel is not None or not bare.startswith("=="):
        return None
    try:
        return Release.parse(bare.lstrip("="))
    except ValueError:
        return None


def _is_in(release: Release, row: PackageNeed) -> bool:
    return Release.parse(row.first).order <= release.order <= Release.parse(row.last).order


def _pythons(one: Package, platform: str, architecture: str) -> Iterable[Version | None]:
    """The Pythons that a release has wheels for; one that is not known where it has some for every later one."""
    place = place_of(platform, architecture)
    told = [text for row in wheels_of(normalized(one.name), one.spec) for text in pythons_at(row, place)]
    if not told or not all(text.replace(".", "").isdigit() for text in told):
        return [None]
    return map(Version.parse, told)
