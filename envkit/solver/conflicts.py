"""Why a request has no plan: the smallest sets of its parts that clash, each in one sentence with its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from envkit.base.versions import ComputeCapability, Version
from envkit.compat.software import title_of
from envkit.compat.verdict import Verdict
from envkit.solver.candidates import passing, rejected, rejections
from envkit.solver.constraints import Constraint
from envkit.solver.explain import joint_reason, toolkit_reason
from envkit.solver.model import Conflict
from envkit.solver.parts import Part, only, part_in_words, parts_of
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest
from envkit.solver.search import feasible
from envkit.tables.rows import FrameworkBuild


def conflicts(query: Query) -> tuple[Conflict, ...]:
    """The minimal clashes of a query that has no plan: single parts, otherwise pairs, otherwise one larger set."""
    parts = parts_of(query.request)
    for size in (1, 2):
        clashing = [group for group in combinations(parts, size) if not feasible(_only(query, group))]
        if clashing:
            return tuple(_explained(query, group) for group in clashing)
    return (_explained(query, _shrunk(query, parts)),)


def _only(query: Query, group: tuple[Part, ...]) -> Query:
    return query.changed(only(query.request, group))


def _shrunk(query: Query, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    kept = parts
    for part in parts:
        fewer = tuple(other for other in kept if other != part)
        if not feasible(_only(query, fewer)):
            kept = fewer
    return kept


def _explained(query: Query, group: tuple[Part, ...]) -> Conflict:
    verdict = _reason(_only(query, _with_frameworks(query, group)))
    return Conflict(tuple(part.label for part in group), verdict.detail, verdict.sources, verdict.parts)


def _with_frameworks(query: Query, group: tuple[Part, ...]) -> tuple[Part, ...]:
    """A driver that runs no CUDA at all, with the frameworks: what theirs need says more than the oldest toolkit."""
    if [part.option for part in group] != ["driver"]:
        return group
    frameworks = tuple(part for part in parts_of(query.request) if part.option == "framework")
    return (*frameworks, *group) if not feasible(_only(query, (*frameworks, *group))) else group


def _reason(query: Query) -> Verdict:
    for framework in query.request.frameworks:
        if next(passing(query, framework), None) is None:
            return _framework_reason(framework, query)
    if query.request.frameworks:
        return joint_reason(query)
    return toolkit_reason(query)


def _framework_reason(framework: FrameworkRequest, query: Query) -> Verdict:
    """The verdict on the build that comes nearest, with how many were looked at."""
    wanted = rejected(query, framework)
    if framework.companions:
        from envkit.solver.companions import passed_over

        alone = next(passing(query, FrameworkRequest(framework.name, framework.spec)), None)
        told = passed_over(framework, alone, query.request.gpus) if alone is not None else None
        if told is not None:
            return told
    if not wanted and framework.open_companions:
        from envkit.solver.companions import no_release_beside

        return no_release_beside(framework, gpus_asked=bool(query.request.gpus))
    if not wanted:
        builds = query.knowledge.build_set(framework.name).builds
        newest = builds[0].version if builds else "none"
        return Verdict("framework-version", "fail", f"no known build matches {framework}; the newest known is {newest}")
    unserved = all(_OF_GPU & {constraint.relation for constraint in broken} for _, broken in wanted)
    asked = query.request.cuda.exact if query.request.cuda is not None else None
    build, broken = min(wanted, key=lambda one: _nearness(one[0], one[1], query if unserved else None, asked))
    refusals = [constraint.refusal(query, build) for constraint in broken[:2]]
    parts = tuple(verdict.detail for verdict in refusals)
    reason = "; ".join(parts)
    title = title_of(build)
    names = (title, title.partition(" for ")[0]) if len(parts) == 1 else ()
    named = next((name for name in names if reason.startswith(f"{name} ")), "")
    if len(wanted) > 1:
        which = f" is {title}, which {reason.removeprefix(f'{named} ')}" if named else f", {title}, fails: {reason}"
        reason = f"no build of {part_in_words(str(framework))} works. The closest{which}"
    elif not named:
        reason = f"{title}: {reason}"
    return Verdict(refusals[0].relation, "fail", reason, refusals[0].sources, parts if len(parts) > 1 else ())


def _nearness(
    build: FrameworkBuild, broken: tuple[Constraint, ...], query: Query | None, asked: Version | None
) -> tuple[object, ...]:
    """Fewest clashes first; of those the lowest CUDA where the driver is too old, otherwise the newest build.

    Where none is for the CUDA that is `asked` for, the nearest CUDA comes before the newest build.

    With the query of GPUs that no build serves it is the newest of those that the oldest GPU misses by the least.
    """
    names = {constraint.relation for constraint in broken}
    clashes = len({_ONE_CLASH.get(name, name) for name in names})
    cuda = build.cuda.parts if build.cuda else ()
    newest = tuple(-part for part in build.version.parts)
    driver = "driver-runs-cuda" in names
    behind = _behind(build, query) if query is not None and not driver else 0
    aside = bool(names & _NOT_ASKED)  # what was asked for, and does not do, says more than what was not
    away = _away(build.cuda, asked) if "cuda-version" in names else 0
    return (clashes, behind, cuda if driver else (), aside, away, newest, tuple(-part for part in cuda))


def _away(cuda: Version | None, asked: Version | None) -> int:
    """How far a CUDA is from the one asked for, a major version being more than all minor ones."""
    if cuda is None or asked is None:
        return 0
    return abs((cuda.major - asked.major) * 100 + cuda.minor - asked.minor)


def _behind(build: FrameworkBuild, query: Query) -> int:
    """How far the oldest GPU is after a build's oldest code, in tenths of a compute capability; 0 where it is not."""
    gpus = [_tenths(gpu.compute_capability) for gpu in query.request.gpus]
    code = [_tenths(one) for one in (*(build.sass or ()), build.min_compute_capability) if one is not None]
    if not gpus or not code:
        return 0 if not gpus else _UNKNOWN_CODE
    return max(min(code) - min(gpus), 0)


def _tenths(capability: ComputeCapability) -> int:
    """A compute capability in tenths: 86 of 8.6."""
    return capability.major * 10 + capability.minor


_NOT_ASKED = {"cuda-version", "platform", "architecture"}
_UNKNOWN_CODE = 1_000  # further than any
_OF_GPU = {"gpu-runs-build", "gpu-runs-cuda", "gpu-on-cudnn"}
# a build that is made before, or after, the time of a GPU lacks it in each of its libraries
_ONE_CLASH = dict.fromkeys(_OF_GPU, "gpu")


def rejected_by(query: Query) -> Mapping[str, int]:
    """How many builds each relation rules out."""
    counts = sum((rejections(query, framework) for framework in query.request.frameworks), Counter[str]())
    return dict(counts.most_common())
