"""For how long software carries a card: the last CUDA, PyTorch and driver branch with code for it."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.compat.gpu import toolkit_match
from envkit.solver.guide import NOTHING, newest_for
from envkit.tables import Matrix
from envkit.tables.rows import FrameworkBuild, Toolkit


@record
class Wanted:
    """The software that a card has to run: a framework with its versions, and versions of CUDA."""

    framework: str = ""
    versions: VersionSpec | None = None
    cuda: VersionSpec | None = None


@record
class Reach:
    """The newest release of one software that has code for a card; `ended` where a newer release has none."""

    software: str
    last: Version | None  # None: not known
    ended: bool
    sources: tuple[str, ...] = ()


@record
class Support:
    """What carries a card, of what was there at the end of a year."""

    reaches: tuple[Reach, ...]
    last_driver_branch: int | None
    driver_ends: str | None
    oldest: bool  # no older generation is carried by the newest CUDA, so it is the next to be dropped

    @property
    def ended(self) -> tuple[Reach, ...]:
        """What no longer has code for the card."""
        return tuple(reach for reach in self.reaches if reach.ended)

    @property
    def rank(self) -> int:
        """Better is higher: what still carries it, and whether the driver does."""
        return -len(self.ended) - (self.last_driver_branch is not None)


class SupportTable:
    """The support of cards in one year, worked out once for each compute capability."""

    def __init__(self, matrix: Matrix, year: int | None = None, frameworks: Iterable[str] = ("pytorch",)) -> None:
        self._matrix = matrix
        self._year = year
        self._toolkits = [row for row in matrix.toolkits if self._was_there(row.release_date)]
        self._builds = {
            name: [row for row in matrix.builds(name) if self._was_there(row.release_date)] for name in frameworks
        }
        self._found: dict[ComputeCapability, tuple[tuple[Reach, ...], bool]] = {}

    def of(self, card: Card) -> Support:
        """What carries the card. Systems of their own run a CUDA of their own, of which no row tells."""
        if card.form == "system":
            return Support((), None, None, False)
        if card.capability not in self._found:
            self._found[card.capability] = self._reaches(card.capability), self._is_oldest(card.capability)
        reaches, oldest = self._found[card.capability]
        branch = card.model.last_driver_branch if self._year is None else None  # no row says when it was decided
        row = self._matrix.driver_branch(branch) if branch else None
        return Support(reaches, branch, row.end_of_life if row else None, oldest)

    def _was_there(self, date: str | None) -> bool:
        return self._year is None or (date is not None and int(date[:4]) <= self._year)

    def _reaches(self, capability: ComputeCapability) -> tuple[Reach, ...]:
        return (self._cuda(capability), *(self._framework(name, capability) for name in self._builds))

    def _cuda(self, capability: ComputeCapability) -> Reach:
        """The last CUDA release line; a later one that is not known to run it counts as ended only if it is refused."""
        running = [row for row in self._toolkits if toolkit_match(capability, row).runs]
        last = running[-1] if running else None
        newest: Toolkit | None = self._toolkits[-1] if self._toolkits else None
        ended = newest is not None and toolkit_match(capability, newest).runs is False
        return Reach("CUDA", last.release if last else None, ended, newest.sources if newest else ())

    def _framework(self, name: str, capability: ComputeCapability) -> Reach:
        builds = self._builds[name]
        last = newest_for(capability, builds, self._matrix)
        title = row.title if (row := self._matrix.framework(name)) else name
        usable = [build for build in builds if build.cuda is not None and not build.yanked]
        newest = usable[-1] if usable else None
        if last is None or newest is None:
            return Reach(title, None, False)
        return Reach(title, None if last == NOTHING else last, last == NOTHING or last < newest.version, newest.sources)

    def _is_oldest(self, capability: ComputeCapability) -> bool:
        newest = self._toolkits[-1] if self._toolkits else None
        low = newest.min_compute_capability if newest else None
        return low is not None and (capability.major, capability.minor) == (low.major, low.minor)


def refusal(card: Card, wanted: Wanted, matrix: Matrix) -> tuple[str, tuple[str, ...]] | None:
    """Why the card does not run the software that is wanted, with sources; None where it does or nobody knows."""
    if wanted.framework:
        return _no_build(card, wanted, matrix)
    if wanted.cuda is None:
        return None
    rows = [row for row in matrix.toolkits if wanted.cuda.holds(row.version) or wanted.cuda.holds(row.release)]
    if not rows or any(toolkit_match(card.capability, row).runs is not False for row in rows):
        return None
    return f"CUDA {wanted.cuda} does not support {card.capability.sm}", rows[-1].sources


def _no_build(card: Card, wanted: Wanted, matrix: Matrix) -> tuple[str, tuple[str, ...]] | None:
    builds = [build for build in matrix.builds(wanted.framework) if _is_wanted(build, wanted)]
    if newest_for(card.capability, builds, matrix) != NOTHING:
        return None
    asked = f"{wanted.framework} {wanted.versions or ''}".strip() + (f" with CUDA {wanted.cuda}" if wanted.cuda else "")
    sources = builds[-1].sources if builds else ()
    return f"no build of {asked} supports {card.capability.sm}", sources


def _is_wanted(build: FrameworkBuild, wanted: Wanted) -> bool:
    if wanted.versions is not None and not wanted.versions.holds(build.version):
        return False
    return wanted.cuda is None or (build.cuda is not None and wanted.cuda.holds(build.cuda))
