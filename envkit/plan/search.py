"""One build per framework such that they share a Python, a NumPy and, where they need one, a system CUDA toolkit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from envkit.matrix.rows import FrameworkBuild, Toolkit
from envkit.plan import relations
from envkit.plan.candidates import Candidate, Judge
from envkit.records import record, replace
from envkit.versions import Version


@record
class Selection:
    """Builds that fit together, with what they leave open: toolkits (None: none is needed) and Pythons (None: any)."""

    builds: tuple[FrameworkBuild, ...] = ()
    toolkits: tuple[Toolkit, ...] | None = None
    pythons: frozenset[Version] | None = None

    def extended(self, candidate: Candidate) -> Selection | None:
        """The selection with one more build, or None when it shares no toolkit or no Python with the others."""
        build, toolkits = candidate.build, self.toolkits
        if candidate.toolkits is not None:
            toolkits = candidate.toolkits if toolkits is None else _common(toolkits, candidate.toolkits)
            if not toolkits:
                return None
        pythons = self.pythons
        if candidate.pythons:
            pythons = candidate.pythons if pythons is None else pythons & candidate.pythons
            if not pythons:
                return None
        return Selection((*self.builds, build), toolkits, pythons)

    def with_numpy(self) -> Selection | None:
        """The selection with only the Pythons on which the builds' NumPy bounds agree; None when there is none."""
        bounds = {build.numpy for build in self.builds if build.numpy}
        if len(bounds) < 2:
            return self
        if self.pythons is None:
            return self if _numpy_agrees(bounds, None) else None
        pythons = frozenset(python for python in self.pythons if _numpy_agrees(bounds, python))
        return replace(self, pythons=pythons) if pythons else None


def _numpy_agrees(bounds: set[str], python: Version | None) -> bool:
    return relations.some_version_meets(spec for bound in bounds for spec in relations.numpy_specs(bound, python))


def _common(first: tuple[Toolkit, ...], second: tuple[Toolkit, ...]) -> tuple[Toolkit, ...]:
    versions = {toolkit.version for toolkit in second}
    return tuple(toolkit for toolkit in first if toolkit.version in versions)


def select(judge: Judge) -> Selection | None:
    """The best selection for a request, or None when no builds fit together.

    The framework that was asked for first gets the best build that leaves the others any.
    """
    start = _start(judge)
    if start is None:
        return None
    return _first(start, [judge.candidates(framework) for framework in judge.request.frameworks])


def feasible(judge: Judge) -> bool:
    """Whether a request has any plan: `select` without looking for the best."""
    if not judge.request.frameworks:
        return not judge.driver_drops_gpu and judge.has_usable_toolkit
    start = _start(judge)
    if start is None:
        return False
    return _first(start, [judge.passing(framework) for framework in judge.request.frameworks]) is not None


def compatible(judge: Judge, index: int) -> Iterator[FrameworkBuild]:
    """The builds of one framework of a request, newest first, that leave the others any."""
    start = _start(judge)
    if start is None:
        return
    groups = [_Replay(judge.passing(framework)) for framework in judge.request.frameworks]
    others = (*groups[:index], *groups[index + 1 :])
    known: dict[object, bool] = {}
    for candidate in groups[index]:
        twins = candidate.kind
        if twins not in known:
            extended = start.extended(candidate)
            known[twins] = extended is not None and next(_extensions(extended, others), None) is not None
        if known[twins]:
            yield candidate.build


class _Replay:
    """An iterator that can be gone through again; what nobody asks for is not worked out."""

    def __init__(self, source: Iterator[Candidate]) -> None:
        self._source = source
        self._seen: list[Candidate] = []

    def __iter__(self) -> Iterator[Candidate]:
        yield from self._seen
        for candidate in self._source:
            self._seen.append(candidate)
            yield candidate


def _first(start: Selection, groups: list[Iterator[Candidate]]) -> Selection | None:
    again = [_Replay(group) for group in groups]
    if any(next(iter(group), None) is None for group in again):
        return None
    return next(_extensions(start, again), None)


def _start(judge: Judge) -> Selection | None:
    """What holds before any build is chosen; None where even that cannot be had."""
    request = judge.request
    if judge.driver_drops_gpu and not request.frameworks:
        return None
    if request.frameworks and not request.needs_toolkit:
        return Selection()
    return Selection(toolkits=judge.usable_toolkits) if judge.usable_toolkits else None


def _extensions(start: Selection, groups: Sequence[Iterable[Candidate]]) -> Iterator[Selection]:
    if not groups:
        final = start.with_numpy()
        if final is not None:
            yield final
        return
    hopeless: set[object] = set()  # what the rest saw of a build that led nowhere: its twin leads nowhere too
    for candidate in groups[0]:
        seen = candidate.kind
        if seen in hopeless:
            continue
        hopeless.add(seen)
        extended = start.extended(candidate)
        if extended is not None:
            yield from _extensions(extended, groups[1:])
