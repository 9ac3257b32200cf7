"""A framework's builds in the order in which a request tries them, and which of them no constraint tells apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter

from envkit.base.versions import Version, VersionSpec, by_line
from envkit.tables.rows import FrameworkBuild


class BuildSet:
    """All builds of a framework, newest release first and withdrawn ones last; `place` is one's place in `builds`.

    A constraint reads few columns, so most builds are alike to it: it judges one of each group.
    """

    def __init__(self, builds: Iterable[FrameworkBuild]) -> None:
        self.builds = tuple(builds)
        self._groups: dict[tuple[str, ...], list[int]] = {}
        self._cells: dict[str, list[int]] = {}
        self._meeting: dict[Hashable, Sequence[int]] = {}

    def groups(self, columns: tuple[str, ...]) -> list[int]:
        """A number for each build, the same for those that read alike in these columns."""
        if columns not in self._groups:
            numbers: dict[Hashable, int] = {}
            rows = zip(*[self._numbered(column) for column in columns], strict=True)
            self._groups[columns] = [numbers.setdefault(row, len(numbers)) for row in rows]
        return self._groups[columns]

    def _numbered(self, column: str) -> list[int]:
        """A number for each build's cell in a column, the same for equal ones.

        A version stands for its numbers: 12 and 12.0 are equal, and other lines.
        """
        if column not in self._cells:
            numbers: dict[Hashable, int] = {}
            cells = map(attrgetter(column), self.builds)
            plain = (cell.parts if type(cell) is Version else cell for cell in cells)
            self._cells[column] = [numbers.setdefault(cell, len(numbers)) for cell in plain]
        return self._cells[column]

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
    def newest(self) -> Version:
        """The newest release, withdrawn or not."""
        return max((build.version for build in self.builds), key=lambda version: version.order)

    @cached_property
    def _lines(self) -> dict[tuple[int, ...], list[int]]:
        return by_line(range(len(self.builds)), self._version)

    def _version(self, place: int) -> Version:
        return self.builds[place].version
