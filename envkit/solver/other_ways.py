"""Vendors' builds, containers and the CPU: what is said next to a refusal, before other hardware is."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import rows_allowed
from envkit.compat.software import title_of
from envkit.solver.doubts import SHARING, doubts_of
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.search import feasible, select
from envkit.tables.loader import read
from envkit.tables.ways import OtherWay


def other_ways(query: Query) -> tuple[str, ...]:
    """What is known to work for a framework of the request although none of its builds in the data does."""
    return (*_ways(query), *_together(query), *_one_by_one(query))


def _ways(query: Query) -> Iterator[str]:
    request = query.request
    for row in read(OtherWay):
        for framework in request.frameworks:
            here = request.platform in row.platforms and request.architecture in row.architectures
            if (
                here
                and row.framework == framework.name
                and _for_gpus(row, query)
                and _stands_for(row, framework, query)
            ):
                yield row.way


def ways_of_companions(request: Request) -> tuple[str, ...]:
    """What is known to work in place of the packages next to a framework, on the GPUs of a request."""
    names = {companion.package for _, companion in request.companions}
    rows = (row for row in read(OtherWay) if row.framework in names and request.platform in row.platforms)
    return tuple(row.way for row in rows if any(row.is_for(gpu.compute_capability) for gpu in request.gpus))


def other_cudas(request: Request) -> tuple[str, ...]:
    """What the makers of the packages next to a framework have for another CUDA, outside of the default index."""
    if request.cuda is None and request.driver is None:
        return ()
    asked = {one.package: one.release for _, one in request.companions if one.release}
    return tuple(
        row.way
        for row in read(OtherWay)
        if row.framework in asked
        and row.versions  # what stands for every release is another package
        and rows_allowed(row.framework, f"=={asked[row.framework]}", [(row, VersionSpec.parse(row.versions))])
        and request.platform in row.platforms
        and request.architecture in row.architectures
        and all(row.is_for(gpu.compute_capability) for gpu in request.gpus)
    )


def _together(query: Query) -> Iterator[str]:
    """The newest releases of the same frameworks that are known to share an environment."""
    frameworks = query.request.frameworks
    opened = replace(query.request, frameworks=tuple(one.meeting(None) for one in frameworks))
    if len(frameworks) < 2 or opened == query.request:
        return
    changed = query.changed(opened)
    selection = select(changed)
    if selection is not None and SHARING not in doubts_of(selection.builds, changed):
        yield f"releases that share an environment: {series(map(title_of, selection.builds))}"


def _one_by_one(query: Query) -> Iterator[str]:
    """That frameworks which cannot share an environment work each in one of its own."""
    frameworks = query.request.frameworks
    alone = (query.changed(replace(query.request, frameworks=(framework,))) for framework in frameworks)
    if len(frameworks) > 1 and all(map(feasible, alone)):
        calls = series(f"envkit resolve --framework '{framework}'" for framework in frameworks)
        yield f"each works in its own environment: {calls}"


def _for_gpus(row: OtherWay, query: Query) -> bool:
    gpus = query.request.gpus
    any_gpu = row.from_capability is None and row.to_capability is None
    return any_gpu or (bool(gpus) and all(row.is_for(gpu.compute_capability) for gpu in gpus))


def _stands_for(row: OtherWay, framework: FrameworkRequest, query: Query) -> bool:
    """Whether the release that was asked for, or the newest, is one of those that the way stands for."""
    asked = framework.spec.clauses[0][1] if framework.spec and framework.spec.clauses else None
    newest: Version = asked or query.knowledge.build_set(framework.name).newest
    return VersionSpec.parse(row.versions).holds(newest)
