"""Changes of one part of a request that could help, nearest first; each is tried before it is offered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from envkit._startup.records import record, replace
from envkit.base.platforms import WINDOWS, WINDOWS_DRIVERS, WSL
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.compat.driver import branch_of
from envkit.compat.software import needs_system_cuda
from envkit.compat.verdict import DriverVerdict
from envkit.solver.candidates import passing
from envkit.solver.parts import Part, without
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.solver.search import compatible, feasible
from envkit.tables.rows import OperatingSystem

# what a change costs the user, cheapest first
COSTS = ("wheel-index", "patch", "minor", "cuda", "cudnn", "python", "driver", "os", "arch", "gpu")


@record
class Change:
    """One changed option: its value as the user would write it, and the request with it."""

    cost: int
    option: str
    value: str
    request: Request


def changes_of(part: Part, query: Query) -> Iterator[Change]:
    """The changes of one part worth trying, nearest first."""
    makers: dict[str, Callable[[Part, Query], Iterator[Change]]] = {
        "framework": _framework_changes,
        "cuda": _cuda_changes,
        "cudnn": _cudnn_changes,
        "python": _python_changes,
        "driver": _driver_changes,
        "os": _os_changes,
        "arch": _arch_changes,
        "platform": _platform_changes,
        "gpu": _gpu_changes,
    }
    return makers[part.option](part, query) if part.option in makers else iter(())


def works(change: Change, query: Query) -> bool:
    """Whether the changed request has a plan."""
    return feasible(query.changed(change.request))


def exactly(version: Version) -> VersionSpec:
    """The spec that asks for one version."""
    return VersionSpec((("==", version),))


def with_spec(request: Request, option: str, spec: VersionSpec) -> Request:
    """The request with another CUDA, cuDNN or Python."""
    if option == "cuda":
        return replace(request, cuda=spec)
    return replace(request, cudnn=spec) if option == "cudnn" else replace(request, python=spec)


def with_framework(request: Request, index: int, wanted: FrameworkRequest) -> Request:
    """The request with another one of its frameworks."""
    return replace(request, frameworks=(*request.frameworks[:index], wanted, *request.frameworks[index + 1 :]))


def _anchor(spec: VersionSpec | None) -> Version:
    return spec.clauses[0][1] if spec and spec.clauses else Version.of(0)


def nearest_first(versions: Iterable[Version], anchor: Version) -> list[Version]:
    """The versions, newer ones ascending then older ones descending: an upgrade is tried before a downgrade."""
    known = sorted(set(versions), key=lambda version: version.order)
    return [version for version in known if version >= anchor] + [
        version for version in reversed(known) if version < anchor
    ]


def _framework_changes(part: Part, query: Query) -> Iterator[Change]:
    request, framework = query.request, query.request.frameworks[part.index]
    opened = query.changed(with_framework(request, part.index, framework.meeting(None)))
    anchor = _anchor(framework.spec)
    for version in nearest_first((build.version for build in compatible(opened, part.index)), anchor):
        if framework.spec is not None and framework.spec.holds(version):
            continue
        wanted = framework.meeting(exactly(version))
        cost = "patch" if version.release(2) == anchor.release(2) else "minor"
        value = companion_for(wanted, framework, version, request)
        if value:
            yield Change(COSTS.index(cost), "framework", value, with_framework(request, part.index, wanted))


def companion_for(wanted: FrameworkRequest, asked: FrameworkRequest, version: Version, request: Request) -> str:
    """What to ask for: where a package fixed the release of its framework, the package: `vllm==0.10.2`.

    '' where none of its releases is made for the system.
    """
    if len(asked.companions) != 1 or not asked.companions[0].release:
        return str(wanted)
    from envkit.solver.companions import newest_for

    (companion,) = wanted.companions
    release = newest_for(companion, version, request)
    return f"{companion.package}=={release}" if release else ""


def _cuda_changes(part: Part, query: Query) -> Iterator[Change]:
    request, knowledge = query.request, query.knowledge
    lines = (toolkit.release for toolkit in knowledge.tables.toolkits)
    builds = tuple(chain.from_iterable(knowledge.build_set(item.name).builds for item in request.frameworks))
    from_system = request.needs_toolkit or not request.frameworks or any(needs_system_cuda(build) for build in builds)
    # a build for all of CUDA 12 is judged as that, whichever release is asked for
    broad = any(build.cuda is not None and len(build.cuda.parts) == 1 for build in builds)
    cost = COSTS.index("cuda" if from_system else "wheel-index")
    for release in nearest_first(lines, _anchor(request.cuda)):
        if query.level(release) is DriverVerdict.UNKNOWN:
            continue  # an offer is something that is known to work
        if not broad and query.cuda_failures(release):
            continue
        if request.cuda is None or not request.cuda.holds(release):
            yield Change(cost, "cuda", str(release), replace(request, cuda=exactly(release)))


def _cudnn_changes(part: Part, query: Query) -> Iterator[Change]:
    request = query.request
    lines = (row.version.release(2) for row in query.knowledge.tables.cudnns)
    for release in nearest_first(lines, _anchor(request.cudnn)):
        if request.cudnn is None or not request.cudnn.holds(release):
            yield Change(COSTS.index("cudnn"), "cudnn", str(release), replace(request, cudnn=exactly(release)))


def _python_changes(part: Part, query: Query) -> Iterator[Change]:
    request = query.request
    offered = {row.python.release(2) for row in query.knowledge.tables.python_sources}
    for python in nearest_first(offered, _anchor(request.python)):
        if request.python is None or not request.python.holds(python):
            yield Change(COSTS.index("python"), "python", str(python), replace(request, python=exactly(python)))


def _driver_changes(part: Part, query: Query) -> Iterator[Change]:
    """Floors of the CUDA versions that would do, lowest first; then the last driver of a GPU that was dropped."""
    request, knowledge = query.request, query.knowledge
    without_it = query.changed(without(request, [part]))
    cudas = {build.cuda for item in request.frameworks for build in passing(without_it, item) if build.cuda} or {
        toolkit.version for toolkit in without_it.toolkits
    }
    floors = [knowledge.floors(cuda, request.platform) for cuda in cudas]
    values = {floor for pair in floors for floor in (pair.minor_version, pair.native) if floor}
    lasts = {knowledge.last_branch(gpu) for gpu in request.gpus}
    branches = [row for row in knowledge.tables.driver_branches if row.branch in lasts]
    if request.platform in WINDOWS_DRIVERS:
        values |= {Version.of(major) for row in branches for major in row.windows_majors[-1:]}
        values |= {Version.of(major) for row in knowledge.tables.driver_branches for major in row.windows_majors[:1]}
    else:
        values = {_released(value, query) for value in values}
        values |= {row.last_version or Version.of(row.branch) for row in branches}
        values |= {row.first_version for row in knowledge.tables.driver_branches if row.first_version and request.gpus}
    for driver in nearest_first(values, request.driver or Version.of(0)):
        dropped = any(knowledge.gpu_on_driver(gpu, driver, request.platform).status == "fail" for gpu in request.gpus)
        if driver != request.driver and not dropped:
            yield Change(COSTS.index("driver"), "driver", str(driver), replace(request, driver=driver))


def _released(floor: Version, query: Query) -> Version:
    """The first Linux driver from a floor on that its branch has: release notes name floors that nobody published."""
    row = branch_of(floor, query.knowledge.tables)
    return max(floor, row.first_version) if row is not None and row.first_version is not None else floor


def _os_changes(part: Part, query: Query) -> Iterator[Change]:
    """Of the same family first those that are maintained, of these its own distribution, then the others."""
    request, here = query.request, query.system
    rows = [row for row in query.knowledge.tables.operating_systems if row.os_id != request.os_id and row.glibc]
    for row in sorted(rows, key=lambda row: _os_distance(row, here, ended=not query.knowledge.maintained(row))):
        yield Change(COSTS.index("os"), "os", row.os_id, replace(request, os_id=row.os_id, glibc=None))


def _os_distance(row: OperatingSystem, here: OperatingSystem | None, *, ended: bool) -> tuple[object, ...]:
    own = _distribution(here.os_id) if here else "ubuntu"
    version = Version.find(row.os_id) or Version.of(0)
    since = Version.find(here.os_id) if here else None
    older = since is not None and version < since
    steps = tuple(-part for part in version.parts) if older else version.parts
    family = here.family if here else row.family
    return (row.family != family, ended, _distribution(row.os_id) != own, older, steps)


def _distribution(os_id: str) -> str:
    return os_id.rstrip("0123456789.")


def _arch_changes(part: Part, query: Query) -> Iterator[Change]:
    if any(gpu.architecture for gpu in query.request.gpus):
        return  # the GPU is built onto its processor
    architecture = Request().architecture
    yield Change(COSTS.index("arch"), "arch", architecture, replace(query.request, architecture=architecture))


def _platform_changes(part: Part, query: Query) -> Iterator[Change]:
    """From Windows to the Linux inside it."""
    if query.request.platform == WINDOWS:
        yield under_wsl(query.request)


def under_wsl(request: Request) -> Change:
    """The same machine with the packages of Linux, on the driver of Windows."""
    return Change(COSTS.index("os"), "os", WSL, replace(request, platform=WSL, os_id=WSL, glibc=None))


def _gpu_changes(part: Part, query: Query) -> Iterator[Change]:
    """Of several GPUs the others alone; then other compute capabilities, the nearest first."""
    request, cost = query.request, COSTS.index("gpu")
    others = tuple(gpu for index, gpu in enumerate(request.gpus) if index != part.index)
    if others:
        names = ", ".join(gpu.name or str(gpu.compute_capability) for gpu in others)
        yield Change(cost, "gpu", names, replace(request, gpus=others))
        return
    own = request.gpus[part.index].compute_capability
    for capability in sorted(query.knowledge.compute_capabilities, key=lambda other: _distance(other, own)):
        if capability != own:
            yield Change(cost, "gpu", str(capability), replace(request, gpus=(TargetGpu(capability),)))


def _distance(other: ComputeCapability, own: ComputeCapability) -> tuple[int, bool]:
    return abs((other.major * 10 + other.minor) - (own.major * 10 + own.minor)), other < own
