"""Which builds of a framework a query lets through, best first, and which constraints rule out the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby

from envkit._startup.records import record
from envkit.base.platforms import WINDOWS
from envkit.base.versions import Version
from envkit.compat.gpu import CodeMatch
from envkit.compat.pythons import python_meets
from envkit.compat.software import needs_system_cuda
from envkit.compat.verdict import DriverVerdict
from envkit.solver.constraints import (
    CODE,
    CONSTRAINTS,
    CUDA_VERSION,
    CUDNN_VERSION,
    GLIBC,
    GPU_ON_CUDNN,
    PYTHON,
    Constraint,
)
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest
from envkit.tables.rows import FrameworkBuild, Toolkit

LEVEL_ORDER = {
    None: 0,  # no driver in sight: nothing to prefer
    DriverVerdict.NATIVE: 0,
    DriverVerdict.MINOR_VERSION: 1,
    DriverVerdict.FORWARD: 2,
    DriverVerdict.UNKNOWN: 3,
    DriverVerdict.INCOMPATIBLE: 4,
}
_CODE = {CodeMatch.NATIVE: 0, CodeMatch.BINARY: 0, CodeMatch.JIT: 1, CodeMatch.UNKNOWN: 2, CodeMatch.NONE: 3}


@record
class Candidate:
    """A build that keeps every constraint.

    `pythons` are those of its packages that the request allows, empty where nothing is known of them; `toolkits` those
    that it can load CUDA from, None when it needs none.
    """

    build: FrameworkBuild
    pythons: frozenset[Version]
    toolkits: tuple[Toolkit, ...] | None


Asked = tuple[Constraint, list[int], dict[int, "bool | None"]]  # with the group of each build, and its answers by group


def _asked(query: Query, framework: str) -> list[Asked]:
    """The constraints that a query asks something of, each with what it said of a framework to those that ask it."""
    groups = query.knowledge.build_set(framework).groups
    asking = [(one, one.asks(query)) for one in CONSTRAINTS]
    return [
        (one, groups(one.columns), query.answers(framework, one.relation, asks))
        for one, asks in asking
        if asks is not None
    ]


def _broken(query: Query, asked: list[Asked], build: FrameworkBuild, place: int) -> Iterator[Constraint]:
    """The constraints that rule out a build; of each group of builds that one cannot tell apart it judges the first."""
    for constraint, groups, known in asked:
        group = groups[place]
        if group not in known:
            known[group] = constraint.holds(query, build)
        if known[group] is False:
            yield constraint


def _wanted(query: Query, framework: FrameworkRequest) -> Iterable[int]:
    """The places of the builds whose version is acceptable, also to the packages that are wanted next to them."""
    builds = query.knowledge.build_set(framework.name)
    places, beside = builds.meeting(framework.spec), framework.companions
    if not beside:
        return places
    from envkit.solver.companions import is_beside

    def has_all(build: FrameworkBuild) -> bool:
        key = build.version.parts, build.on_pypi, build.companions, build.cuda and build.cuda.parts
        if key not in known:
            known[key] = all(is_beside(one, build, query.request.gpus, other_cuda=asked) for one in beside)
        return bool(known[key])

    # whose CUDA the default index's package may not be for; that for Windows has none
    asked = query.request.cuda is not None or query.request.platform == WINDOWS
    known = query.answers("beside", framework.name, beside, query.machine, asked)
    return [place for place in places if has_all(builds.builds[place])]


def passing(query: Query, framework: FrameworkRequest) -> Iterator[FrameworkBuild]:
    """The builds of a framework that keep every constraint, newest release first, each looked at when asked for."""
    builds, asked = query.knowledge.build_set(framework.name), _asked(query, framework.name)
    for place in _wanted(query, framework):
        build = builds.builds[place]
        if next(_broken(query, asked, build, place), None) is None:
            yield build


def rejected(query: Query, framework: FrameworkRequest) -> list[tuple[FrameworkBuild, tuple[Constraint, ...]]]:
    """The builds of the wanted versions, newest release first, each with the constraints that rule it out."""
    builds, asked = query.knowledge.build_set(framework.name), _asked(query, framework.name)
    wanted = [(builds.builds[place], place) for place in _wanted(query, framework)]
    return [(build, tuple(_broken(query, asked, build, place))) for build, place in wanted]


def rejections(query: Query, framework: FrameworkRequest) -> Counter[str]:
    """How many builds of any version each relation rules out."""
    builds = query.knowledge.build_set(framework.name)
    counts = Counter({"framework-version": len(builds.builds) - len(builds.meeting(framework.spec))})
    counts.update(dict.fromkeys((constraint.relation for constraint in CONSTRAINTS), 0))  # equal counts in this order
    for constraint, groups, known in _asked(query, framework.name):
        one_of = dict(zip(groups, builds.builds, strict=True))
        for group, size in Counter(groups).items():
            if group not in known:
                known[group] = constraint.holds(query, one_of[group])
            counts[constraint.relation] += size if known[group] is False else 0
    return +counts


def candidate(query: Query, build: FrameworkBuild) -> Candidate:
    """A build that passed, not ranked yet."""
    known, wanted = query.knowledge.pythons(build), query.request.python
    pythons = frozenset(known if wanted is None else [python for python in known if python_meets(wanted, python)])
    return Candidate(build, pythons, query.toolkits_for(build) if needs_system_cuda(build) else None)


def candidates(query: Query, framework: FrameworkRequest) -> Iterator[Candidate]:
    """Those that pass, the best of each release first.

    Of a major those come last of whose code for GPUs something is recorded, but nothing for the GPUs asked for.
    After them those that the driver runs only with cuda-compat, if at all; last those that may not have the requested
    CUDA or cuDNN.
    """
    with_compat: list[Candidate] = []
    unsure: list[Candidate] = []
    for _, releases in groupby(passing(query, framework), lambda build: (build.yanked, build.version.major)):
        without_code: list[Candidate] = []
        for one in _by_release(query, releases):
            if may_differ(query, one.build):
                unsure.append(one)
            elif _level(query, one) >= LEVEL_ORDER[DriverVerdict.FORWARD]:
                with_compat.append(one)
            elif one.build.sass and CODE.holds(query, one.build) is None:
                without_code.append(one)
            else:
                yield one
        yield from without_code
    yield from with_compat
    yield from unsure


def _by_release(query: Query, builds: Iterable[FrameworkBuild]) -> Iterator[Candidate]:
    for _, release in groupby(builds, lambda build: build.version.parts):
        yield from sorted((candidate(query, build) for build in release), key=lambda one: _rank(query, one))


def may_differ(query: Query, build: FrameworkBuild) -> bool:
    """True when it is not known whether a build that passes has the requested CUDA or cuDNN."""
    return any(constraint.holds(query, build) is None for constraint in (CUDA_VERSION, CUDNN_VERSION))


def kind(query: Query, one: Candidate) -> Hashable:
    """What other builds see of a candidate: two of a kind go with the same ones."""
    build, rows = one.build, one.toolkits
    toolkits = None if rows is None else tuple([row.version.parts for row in rows])
    others = query.others[build.framework]
    traits = query.together.traits(build, others) if others else None
    return one.pythons, build.numpy, toolkits, traits


def _rank(query: Query, one: Candidate) -> tuple[object, ...]:
    """Where a candidate is among those of its release; the lowest is the best."""
    build, toolkits = one.build, one.toolkits
    exact = True
    if toolkits:
        exact = build.cuda is None or any(toolkit.version.starts_with(build.cuda) for toolkit in toolkits)
    codes = (query.knowledge.code_match(gpu.compute_capability, build) for gpu in query.request.gpus)
    doubts = sum(constraint.holds(query, build) is None for constraint in (PYTHON, GLIBC))
    return (
        _level(query, one),
        max((_CODE[code] for code in codes), default=0) + 2 * doubts,
        query.request.container and not _has_image(query, toolkits),
        not exact,
        _descending(build.cuda) if build.cuda else (0,),
        not build.on_pypi,
        GPU_ON_CUDNN.holds(query, build) is None,
        _descending(build.cudnn) if build.cudnn else (0,),
    )


def _level(query: Query, one: Candidate) -> int:
    """How well the driver runs a candidate's CUDA, or the best of those that it can load."""
    if one.toolkits:
        return min(LEVEL_ORDER[query.level(toolkit.version)] for toolkit in one.toolkits)
    return LEVEL_ORDER[query.level(one.build.cuda)] if one.build.cuda else 0


def _has_image(query: Query, toolkits: tuple[Toolkit, ...] | None) -> bool:
    if toolkits is None:  # a wheel that provides CUDA needs none of the image's libraries
        return True
    wanted = query.request.os_id
    return any(wanted in (None, tag.os_id) for row in toolkits for tag in query.knowledge.images(row))


def _descending(version: Version) -> tuple[int, ...]:
    padded = (version.parts + (0, 0, 0, 0))[:5]
    return tuple(-part for part in padded)
