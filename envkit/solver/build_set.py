"""A framework's builds in the order in which a request tries them, and which of them no constraint tells apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

from envkit.base.versions import Version, VersionSpec, by_line
from envkit.solver.constraints import values_of
from envkit.tables.rows import FrameworkBuild


class BuildSet:
    """All builds of a framework, newest release first and withdrawn ones last; `place` is one's place in `builds`.

    A constraint reads few columns, so most builds are alike to it: it judges one of each group.
    """

    def __init__(self, builds: Iterable[FrameworkBuild]) -> None:
        self.builds = tuple(builds)
        self._groups: dict[tuple[str, ...], list[int]] = {}
        self._meeting: dict[Hashable, Sequence[int]] = {}

    def groups(self, columns: tuple[str, ...]) -> list[int]:
        """A number for each build, the same for those that read alike in these columns."""
        if columns not in self._groups:
            numbers: dict[Hashable, int] = {}
            values = (values_of(build, columns) for build in self.builds)
            self._groups[columns] = [numbers.setdefault(one, len(numbers)) for one in values]
        return self._groups[columns]

    def meeting(self, spec: VersionSpec | None) -> Sequence[int]:
        """The places of the builds whose version meets `spec`, in order."""
        if spec is None:
            return range(len(self.builds))
        if spec.line is not None:
            return self._lines.get(spec.line, ())
        key = spec.key
        if key not in self._meeting:
            self._meeting[key] = [place for place, build in enumerate(self.builds) if spec.holds(build.version)]
        return self._meeting[key]

    @cached_property
    def _lines(self) -> dict[tuple[int, ...], list[int]]:
        return by_line(range(len(self.builds)), self._version)

    def _version(self, place: int) -> Version:
        return self.builds[place].version
