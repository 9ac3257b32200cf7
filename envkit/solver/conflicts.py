"""Why a request has no plan: the smallest sets of its parts that clash, each in one sentence with its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import combinations

from envkit.compat import title_of
from envkit.compat.verdict import Verdict
from envkit.solver.candidates import Judge
from envkit.solver.explain import build_verdict, joint_reason, toolkit_reason
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import Conflict
from envkit.solver.parts import Part, only, parts_of
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.search import feasible
from envkit.tables.rows import FrameworkBuild


def conflicts(request: Request, knowledge: Knowledge) -> tuple[Conflict, ...]:
    """The minimal clashes of a request that has no plan: single parts, else pairs, else one larger set."""
    parts = parts_of(request)
    for size in (1, 2):
        clashing = [
            group for group in combinations(parts, size) if not feasible(Judge(only(request, group), knowledge))
        ]
        if clashing:
            return tuple(_explained(request, group, knowledge) for group in clashing)
    return (_explained(request, _shrunk(request, parts, knowledge), knowledge),)


def _shrunk(request: Request, parts: tuple[Part, ...], knowledge: Knowledge) -> tuple[Part, ...]:
    kept = parts
    for part in parts:
        fewer = tuple(other for other in kept if other != part)
        if not feasible(Judge(only(request, fewer), knowledge)):
            kept = fewer
    return kept


def _explained(request: Request, group: tuple[Part, ...], knowledge: Knowledge) -> Conflict:
    judge = Judge(only(request, group), knowledge)
    verdict = _reason(judge)
    return Conflict(tuple(part.label for part in group), verdict.detail, verdict.sources)


def _reason(judge: Judge) -> Verdict:
    for framework in judge.request.frameworks:
        if next(judge.passing(framework), None) is None:
            return _framework_reason(framework, judge)
    if judge.request.frameworks:
        return joint_reason(judge)
    return toolkit_reason(judge)


def _framework_reason(framework: FrameworkRequest, judge: Judge) -> Verdict:
    """The verdict on the build that comes nearest, with how many were looked at."""
    wanted = judge.rejected(framework)
    if not wanted:
        builds = judge.knowledge.shelf(framework.name).builds
        newest = builds[0].version if builds else "none"
        return Verdict("framework-version", "fail", f"no build is {framework}; the newest on record is {newest}")
    build, names = min(wanted, key=_nearness)
    told = [build_verdict(name, build, judge) for name in names[:2]]
    reason = "; ".join(verdict.detail for verdict in told)
    named = reason.startswith(f"{build.framework} {build.version}")
    subject = "" if named else title_of(build)
    if len(wanted) > 1:
        nearest = f"nearest, {subject}" if subject else "nearest"
        subject = f"none of {len(wanted)} builds of {framework} fits; the {nearest}"
    return Verdict(told[0].relation, "fail", f"{subject}: {reason}" if subject else reason, told[0].sources)


def _nearness(rejected: tuple[FrameworkBuild, tuple[str, ...]]) -> tuple[object, ...]:
    """Fewest clashes first; among those the lowest CUDA where the driver is too old, else the newest build."""
    build, names = rejected
    clashes = _clashes(names)
    cuda = build.cuda.parts if build.cuda else ()
    newest = tuple(-part for part in build.version.parts)
    if "driver-runs-cuda" in names:
        return (clashes, cuda, newest)
    return (clashes, newest, tuple(-part for part in cuda))


@cache  # many builds clash alike
def _clashes(names: tuple[str, ...]) -> int:
    return len({_ONE_CLASH.get(name, name) for name in names})


# a build that is made before, or after, the time of a GPU lacks it in each of its libraries
_ONE_CLASH = dict.fromkeys(("gpu-runs-build", "gpu-runs-cuda", "gpu-on-cudnn"), "gpu")


def rejections(judge: Judge) -> Mapping[str, int]:
    """How many builds each relation rules out."""
    counts = sum((judge.rejections(framework) for framework in judge.request.frameworks), Counter[str]())
    return dict(counts.most_common())
