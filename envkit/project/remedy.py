"""What helps where a requirement's build does not run: the nearest one that does, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.records import replace
from envkit.base.sentences import series
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Remedy
from envkit.compat.conda import channel_build
from envkit.compat.driver_gpu import is_after
from envkit.compat.verdict import Verdict
from envkit.dockerfile.framework_packages import Wanted
from envkit.project.nearest import fitting
from envkit.solver.constraints import CODE, CONSTRAINTS
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild, framework_title


def remedy_for(wanted: Wanted, build: FrameworkBuild, query: Query) -> Remedy:
    """The nearest build that runs on the target; where none does, why."""
    other = _first(fitting(wanted, build, query), wanted)
    if other is not None:
        return Remedy(f"Use {in_words(other, wanted)}.")
    title = (
        framework_title(build.framework) if wanted.tool == "pip" else (f"{framework_title(build.framework)} from conda")
    )
    told = f"envkit knows no build of {title} for the target"
    why = _none_runs(wanted.framework, query)
    if why is None:
        return Remedy(f"{told}: none supports this driver, these GPUs, and this Python together.")
    if why.relation == "gpu-on-driver" and (last := _last_branch(query)) is not None:
        return Remedy(f"Install driver branch {last[1]} instead: it is the last one for {last[0]}.")
    if faults.OF_RELATION[why.relation] is not faults.DRIVER_TOO_OLD:
        return Remedy(f"{told}: {why.detail}.")
    return newer_driver(query)


def newer_driver(query: Query) -> Remedy:
    """The remedy where the driver is too old for the GPUs: no release of anything changes that."""
    firsts = [query.knowledge.first_driver(gpu) for gpu in query.request.gpus]
    first = max((first for first in firsts if first is not None), default=None)
    return Remedy(f"Update the driver{f' to {first} or newer' if first else ''}.")


def build_for_gpu(wanted: Wanted, build: FrameworkBuild, query: Query) -> Remedy | None:
    """The build that has code for the GPUs, and the driver that it needs then; None where none has."""
    later = query.changed(replace(query.request, driver=None))
    other = _first(fitting(wanted, build, later), wanted)
    if other is None or other == build or other.cuda is None:
        return None
    floor = later.knowledge.floors(other.cuda, query.request.platform).lowest
    firsts = [query.knowledge.first_driver(gpu) for gpu in query.request.gpus]
    least = max((one for one in (floor, *firsts) if one is not None), default=None)
    needs = f"; it needs driver {least} or newer" if least else ""
    return Remedy(f"Use {in_words(other, wanted)}{needs}.")


def _first(builds: Sequence[FrameworkBuild], wanted: Wanted) -> FrameworkBuild | None:
    """The nearest build; of those that conda takes, one that its channel is known to have, if there is any."""
    known = (one for one in builds if wanted.tool == "conda" and channel_build(one.framework, one.version, one.cuda))
    return next(known, None) or next(iter(builds), None)


def in_words(build: FrameworkBuild, wanted: Wanted) -> str:
    """A build as its installer names it, its CUDA, and where it is."""
    row = channel_build(build.framework, build.version, build.cuda) if wanted.tool == "conda" else None
    if row is None:
        return f"{build.package} for CUDA {build.cuda} {place_of(build, wanted)}"
    lines = (line.replace("==", "=") for line in row.requirements)
    return f"{series(lines)} from the {'channel' if len(row.channels) == 1 else 'channels'} {series(row.channels)}"


def is_driver_too_new(query: Query) -> bool:
    """Whether the driver no longer supports one of the GPUs."""
    return _last_branch(query) is not None


def _last_branch(query: Query) -> tuple[str, int] | None:
    """The GPU that the driver is too new for, with the last branch that supports it; None where it is too old."""
    driver, platform = query.driver, query.request.platform
    for gpu in query.request.gpus if driver is not None else ():
        last = query.knowledge.last_branch(gpu)
        if driver is not None and last is not None and is_after(driver, last, query.knowledge.tables, platform):
            return str(gpu), last
    return None


def _none_runs(framework: str, query: Query) -> Verdict | None:
    """The first relation that rules every CUDA build of a framework out by itself; what its makers say of GPUs first.

    It is given for the newest build, and for the oldest where the GPUs are older than those of every build.
    """
    rows = [row for row in query.knowledge.tables.builds(framework) if row.package and row.cuda and not row.cpu_only]
    own = rows and all(row.sass is None for row in rows)
    for constraint in ((CODE, *CONSTRAINTS) if own else CONSTRAINTS) if rows else ():
        if constraint.asks(query) is not None and all(constraint.holds(query, row) is False for row in rows):
            return constraint.refusal(query, rows[0] if constraint is CODE and own else rows[-1])
    return None


def place_of(build: FrameworkBuild, wanted: Wanted) -> str:
    """Where the installer of a requirement takes a build from."""
    if wanted.tool == "conda":
        return "by conda"
    place = build.index_url or build.find_links
    return f"from {place}" if place else "from the default index"
