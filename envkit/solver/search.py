"""One build per framework such that they go into one environment, and share a system CUDA toolkit if they need one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby

from envkit._startup.records import record, replace
from envkit.base.versions import Version
from envkit.compat.software import needs_system_cuda, range_of_row, some_version_meets
from envkit.solver.candidates import Candidate, candidate, candidates, kind, passing
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest
from envkit.solver.together import Together
from envkit.tables.rows import FrameworkBuild, Toolkit

Groups = Sequence[Iterable[Candidate]]  # the candidates of each framework


@record
class Selection:
    """Builds that fit together, with what they leave open: toolkits (None: none is needed) and Pythons (None: any)."""

    builds: tuple[FrameworkBuild, ...] = ()
    toolkits: tuple[Toolkit, ...] | None = None
    pythons: frozenset[Version] | None = None

    @property
    def versions(self) -> tuple[Version, ...]:
        """The version of each build."""
        return tuple(build.version for build in self.builds)

    @property
    def system_builds(self) -> tuple[FrameworkBuild, ...]:
        """The builds that load CUDA from the system."""
        return tuple(build for build in self.builds if needs_system_cuda(build))

    def extended(self, one: Candidate, policy: PairPolicy) -> Selection | None:
        """The selection with one more build, or None when it does not go with the others."""
        build, toolkits = one.build, self.toolkits
        if not policy.admits(build, self.builds):
            return None
        if one.toolkits is not None:
            toolkits = one.toolkits if toolkits is None else _common(toolkits, one.toolkits)
            if not toolkits:
                return None
        pythons = self.pythons
        if one.pythons:
            pythons = one.pythons if pythons is None else pythons & one.pythons
            if not pythons:
                return None
        return Selection((*self.builds, build), toolkits, pythons)

    def with_numpy(self) -> Selection | None:
        """The selection, or None where the builds' NumPy bounds exclude each other."""
        bounds = {build.numpy for build in self.builds if build.numpy}
        return self if len(bounds) < 2 or some_version_meets(map(range_of_row, bounds)) else None


@record
class PairPolicy:
    """What two builds must be to each other: `refused` are the statuses that they must not have."""

    together: Together
    refused: tuple[str, ...] = ("fail",)

    def admits(self, build: FrameworkBuild, others: tuple[FrameworkBuild, ...]) -> bool:
        """Whether a build may be next to the others."""
        return not any(self.together.status(other, build) in self.refused for other in others)


_SURENESS = ("ok", "unknown", "apart")  # the surest first


def _common(first: tuple[Toolkit, ...], second: tuple[Toolkit, ...]) -> tuple[Toolkit, ...]:
    versions = {toolkit.version for toolkit in second}
    return tuple(toolkit for toolkit in first if toolkit.version in versions)


def select(query: Query) -> Selection | None:
    """The best selection for a request, or None when no builds fit together.

    The framework that was asked for first gets the newest release that leaves the others any. Where it is not known
    whether the builds go together, older releases of the same majors that are known to are better.
    """
    start = _start(query)
    if start is None:
        return None
    groups = [_Replay(candidates(query, framework)) for framework in query.request.frameworks]
    best = _best(start, groups, query, PairPolicy(query.together))
    doubt = _doubt(best, query) if best is not None else 0
    if best is None or not doubt:
        return best
    alike = [_Replay(_like(build, best, group)) for build, group in zip(best.builds, groups, strict=True)]
    for allowed in reversed(range(doubt)):  # where a lower policy finds none, a higher one does not either
        surer = _surest(start, alike, query, PairPolicy(query.together, ("fail", *_SURENESS[allowed + 1 :])))
        if surer is None:
            break
        best = surer
    return best


def _best(start: Selection, groups: Groups, query: Query, policy: PairPolicy) -> Selection | None:
    """The newest release of the first framework that leaves the others any, of it the build that leaves the best."""
    if not groups:
        return start.with_numpy()
    newest = [next((one.build.version for one in group), None) for group in groups[1:]]
    if None in newest:
        return None
    hopeless: set[object] = set()  # what the rest saw of a build that led nowhere: its twin leads nowhere too
    for _, release in groupby(groups[0], lambda one: (one.build.yanked, one.build.version.parts)):
        found: list[Selection] = []
        for one in release:
            seen = kind(query, one)
            extended = start.extended(one, policy) if seen not in hopeless else None
            hopeless.add(seen)
            best = _best(extended, groups[1:], query, policy) if extended is not None else None
            if best is not None:
                found.append(best)
                if list(best.versions[len(start.builds) + 1 :]) == newest and _doubt(best, query) == 0:
                    break  # those of one release come best first, and none leaves newer others
        if found:
            return max(found, key=lambda best: (best.versions, -_doubt(best, query)))
    return None


def _doubt(selection: Selection, query: Query) -> int:
    """How doubtful it is that the builds go together; 0 where it is known."""
    pairs = combinations(selection.builds, 2)
    return max((_SURENESS.index(query.together.status(*pair)) for pair in pairs), default=0)


def _surest(start: Selection, groups: Groups, query: Query, policy: PairPolicy) -> Selection | None:
    """The newest builds that pass the policy; each framework leads in turn, and the cheapest in releases is right."""
    found: list[Selection] = []
    for lead in range(len(groups)):
        order = [lead, *(place for place in range(len(groups)) if place != lead)]
        selection = _best(start, [groups[place] for place in order], query, policy)
        if selection is None:
            return None  # then there is none in any order
        in_place = dict(zip(order, selection.builds, strict=True))
        found.append(replace(selection, builds=tuple(in_place[place] for place in range(len(groups)))))
    return min(found, key=lambda selection: _newer_releases(selection, query), default=None)


def _like(build: FrameworkBuild, best: Selection, among: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates of the build's major version that need no system toolkit where the best selection needs none."""
    for one in among:
        needs_more = one.toolkits is not None and best.toolkits is None
        if one.build.version.major == build.version.major and not needs_more:
            yield one


def _newer_releases(selection: Selection, query: Query) -> int:
    """How many releases of its frameworks are newer than those of the selection."""
    return sum(
        release[0].version > build.version
        for build in selection.builds
        for release in query.knowledge.releases(build.framework)
    )


def feasible(query: Query) -> bool:
    """Whether a request has any plan: `select` without looking for the best."""
    if not query.request.frameworks:
        return not query.driver_drops_gpu and query.has_usable_toolkit
    start = _start(query)
    if start is None:
        return False
    if len(query.request.frameworks) == 1 and start.toolkits is None:  # nothing that a build has to go with
        return next(passing(query, query.request.frameworks[0]), None) is not None
    groups = [_Replay(_passing(query, framework)) for framework in query.request.frameworks]
    if any(next(iter(group), None) is None for group in groups):
        return False
    return next(_extensions(start, groups, query, PairPolicy(query.together)), None) is not None


def _passing(query: Query, framework: FrameworkRequest) -> Iterator[Candidate]:
    return (candidate(query, build) for build in passing(query, framework))


def compatible(query: Query, index: int) -> Iterator[FrameworkBuild]:
    """The builds of one framework of a request, newest first, that leave the others any."""
    start = _start(query)
    if start is None:
        return
    groups = [_Replay(_passing(query, framework)) for framework in query.request.frameworks]
    others = (*groups[:index], *groups[index + 1 :])
    known: dict[object, bool] = {}
    policy = PairPolicy(query.together)
    for one in groups[index]:
        twins = kind(query, one)
        if twins not in known:
            extended = start.extended(one, policy)
            known[twins] = extended is not None and next(_extensions(extended, others, query, policy), None) is not None
        if known[twins]:
            yield one.build


class _Replay:
    """An iterator that can be gone through again; what nobody asks for is not worked out."""

    def __init__(self, source: Iterator[Candidate]) -> None:
        self._source = source
        self._seen: list[Candidate] = []

    def __iter__(self) -> Iterator[Candidate]:
        yield from self._seen
        for one in self._source:
            self._seen.append(one)
            yield one


def _start(query: Query) -> Selection | None:
    """What holds before any build is chosen; None where even that cannot be obtained."""
    request = query.request
    if query.driver_drops_gpu and not request.frameworks:
        return None
    if request.frameworks and not request.needs_toolkit:
        return Selection()
    return Selection(toolkits=query.usable_toolkits) if query.usable_toolkits else None


def _extensions(start: Selection, groups: Groups, query: Query, policy: PairPolicy) -> Iterator[Selection]:
    if not groups:
        final = start.with_numpy()
        if final is not None:
            yield final
        return
    hopeless: set[object] = set()  # what the rest saw of a build that led nowhere: its twin leads nowhere too
    for one in groups[0]:
        seen = kind(query, one)
        if seen in hopeless:
            continue
        hopeless.add(seen)
        extended = start.extended(one, policy)
        if extended is not None:
            yield from _extensions(extended, groups[1:], query, policy)
