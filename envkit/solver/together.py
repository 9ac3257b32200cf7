"""Whether builds of several frameworks go into one environment; pairs that are alike are judged once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property

from envkit.compat.packages import (
    Requirement,
    brings_cuda,
    cudnn_too_old,
    demands_on,
    libraries_of,
    requirement_met,
    requirements_of,
    wheels_share_libraries,
)
from envkit.compat.tables import Tables
from envkit.compat.verdict import Verdict
from envkit.tables.rows import FrameworkBuild, PackageRequirements


class Together:
    """The pairs of builds on one processor and system, with a memory."""

    def __init__(self, tables: Tables, architecture: str, platform: str) -> None:
        self._tables = tables
        self._architecture = architecture
        self._platform = platform
        self._libraries: dict[Hashable, PackageRequirements | None] = {}
        self._demands: dict[Hashable, tuple[tuple[str, Requirement], ...]] = {}
        self._asked: dict[tuple[str, str], frozenset[Requirement]] = {}
        self._traits: dict[Hashable, Hashable] = {}
        self._shares: dict[Hashable, str] = {}
        self._statuses: dict[Hashable, str] = {}

    def status(self, first: FrameworkBuild, second: FrameworkBuild) -> str:
        """Whether two builds go together: ok, fail, unknown, or apart for unknown with CUDA of two majors."""
        key = (_seen_of(first), _seen_of(second))
        if key not in self._statuses:
            from envkit.compat.package_breaks import breaks_beside

            met = self._met(first, second) and self._met(second, first)
            met = met and breaks_beside(first, second) is None and breaks_beside(second, first) is None
            self._statuses[key] = self._shared(first, second) if met else "fail"
        return self._statuses[key]

    def verdicts(self, first: FrameworkBuild, second: FrameworkBuild) -> Iterator[Verdict]:
        """The verdict on each requirement of the two on each other, and on the libraries that both provide."""
        from envkit.compat.package_breaks import breaks_beside

        for build, other in ((first, second), (second, first)):
            for name, requirement in self._demands_of(build):
                if name == other.framework:
                    yield requirement_met(build, requirement, other)
            broken = breaks_beside(build, other)
            if broken is not None:
                yield broken
        if brings_cuda(first) and brings_cuda(second):
            needs = (self.libraries_of(first), self.libraries_of(second))
            shared = wheels_share_libraries(first, second, needs, self._tables)
            older = cudnn_too_old(first, second) if shared.status == "unknown" else None
            yield from (shared,) if older is None else (shared, older)

    def traits(self, build: FrameworkBuild, others: tuple[tuple[str, bool], ...]) -> Hashable:
        """What builds of the other frameworks can see of a build: two alike go with the same ones.

        `others` are those frameworks, each with whether its builds provide CUDA libraries.
        """
        key = (_seen_of(build), others)
        if key not in self._traits:
            self._traits[key] = self._found_traits(build, others)
        return self._traits[key]

    def _found_traits(self, build: FrameworkBuild, others: tuple[tuple[str, bool], ...]) -> Hashable:
        from envkit.compat.package_breaks import break_marks

        names = [name for name, _ in others]
        demands = tuple([requirement.line for name, requirement in self._demands_of(build) if name in names])
        asked = [requirement for name in names for requirement in self._asked_of(build.framework, name)]
        met = tuple([requirement.spec.holds(build.version) for requirement in asked])
        marks = break_marks(build)
        if not any(brings for _, brings in others):
            return demands, met, marks
        needs = self.libraries_of(build)
        return demands, met, marks, needs.requires if needs else (build.cuda and build.cuda.major)

    def _met(self, build: FrameworkBuild, other: FrameworkBuild) -> bool:
        wanted = (requirement for name, requirement in self._demands_of(build) if name == other.framework)
        return all(requirement.spec.holds(other.version) for requirement in wanted)

    def _shared(self, first: FrameworkBuild, second: FrameworkBuild) -> str:
        if not (brings_cuda(first) and brings_cuda(second)):
            return "ok"
        needs = (self.libraries_of(first), self.libraries_of(second))
        key = tuple([row and row.requires for row in needs])
        if key not in self._shares:
            self._shares[key] = wheels_share_libraries(first, second, needs, self._tables).status
        # of two majors some libraries, cuDNN and NCCL among them, have the same file
        apart = first.cuda is not None and second.cuda is not None and first.cuda.major != second.cuda.major
        return "apart" if apart and self._shares[key] == "unknown" else self._shares[key]

    def libraries_of(self, build: FrameworkBuild) -> PackageRequirements | None:
        """What a build requires of packages of CUDA libraries; None where that is not recorded."""
        key = (build.package, build.index_url, build.find_links, brings_cuda(build))
        if key not in self._libraries:
            rows = self._rows_by_package.get(build.package or "", [])
            self._libraries[key] = libraries_of(build, rows, self._architecture, self._platform)
        return self._libraries[key]

    def open_cudnn(self, build: FrameworkBuild) -> Requirement | None:
        """The requirement of cuDNN that leaves its release to pip; None for a build that pins it, or brings none."""
        row = self.libraries_of(build)
        lines = requirements_of(row.requires or ()) if row is not None else ()
        wanted = (line for line in lines if line.package.startswith("nvidia-cudnn-") and line.spec.exact is None)
        return next(wanted, None)

    @cached_property
    def _rows_by_package(self) -> dict[str, list[PackageRequirements]]:
        rows: dict[str, list[PackageRequirements]] = {}
        for row in self._tables.package_requirements:
            rows.setdefault(row.package, []).append(row)
        return rows

    def _demands_of(self, build: FrameworkBuild) -> tuple[tuple[str, Requirement], ...]:
        needs = self.libraries_of(build)
        requires = (needs.requires if needs else None) or ()
        key = (build.framework, build.companions, requires)
        if key not in self._demands:
            self._demands[key] = tuple(demands_on(build, requires, self._tables))
        return self._demands[key]

    def _asked_of(self, framework: str, other: str) -> frozenset[Requirement]:
        """Everything that any build of another framework requires of this one."""
        key = (framework, other)
        if key not in self._asked:
            builds = self._tables.builds(other)
            self._asked[key] = frozenset(
                requirement for build in builds for name, requirement in self._demands_of(build) if name == framework
            )
        return self._asked[key]


def _seen_of(build: FrameworkBuild) -> Hashable:
    """All that decides with which builds one goes together."""
    cuda = build.cuda and build.cuda.parts
    place = (build.package, build.index_url, build.find_links, build.companions)
    return build.framework, build.version.parts, cuda, place, build.cpu_only, build.bundles_cuda
