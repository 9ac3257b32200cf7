"""`--cuda` as people mean it who read it off nvidia-smi: the CUDA that the machine has, not the one in a package."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.driver import first_branch_floor, reported_cuda
from envkit.compat.software import some_version_meets, title_of
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.solve import resolve
from envkit.tables.images import Backend
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild


def resolve_having(request: Request, matrix: Tables) -> Plan | NoPlan:
    """`_having`, with what the tables say about the parts of the request."""
    from envkit.solver.background import background

    plan = _having(request, matrix)
    if isinstance(plan, Plan) and any(build.package is None for build in plan.choice.builds):
        from envkit.solver.source_python import with_its_system

        plan = with_its_system(plan, lambda changed: resolve(changed, matrix), matrix)
    told = background(request, matrix)
    if isinstance(plan, Plan):
        from envkit.solver.software_notes import notes_of_plan

        told = tuple(dict.fromkeys((*told, *notes_of_plan(plan.choice.builds, request))))
    return replace(plan, background=told)


def _having(request: Request, matrix: Tables) -> Plan | NoPlan:
    """A plan for packages of that CUDA; where there are none, for packages that run on a driver which reports it.

    A package that provides its CUDA needs a driver and nothing else, so a CUDA that none was built for may be on the
    machine all the same. The plan says that it was read so; one for packages of that CUDA says what the other reading
    would give.
    """
    backed = _with_backend(request, matrix)
    if backed is not None:
        return backed
    plan = resolve(request, matrix)
    cuda = request.cuda.exact if request.cuda is not None else None
    if cuda is None or not request.frameworks or request.needs_toolkit or (isinstance(plan, Plan) and request.driver):
        return plan
    driver = request.driver or first_branch_floor(cuda, matrix)
    if driver is None or not _can_show(driver, cuda, request.platform, matrix):
        return plan
    refused = isinstance(plan, NoPlan)
    if refused and _is_broken_there(request, cuda, matrix):
        return plan
    other = resolve(replace(request, cuda=None, cudnn=None if refused else request.cudnn, driver=driver), matrix)
    if isinstance(other, NoPlan) or other.choice.cuda is None or other.choice.needs_toolkit:
        return plan
    if isinstance(plan, NoPlan):
        told = f"{_why_not(plan, cuda, matrix)}, so {_reading(cuda, driver, other, request.cudnn)}"
        return replace(other, warnings=(told, *_of_extensions(cuda, other, matrix), *other.warnings))
    newer = all(new.version > old.version for new, old in zip(other.choice.builds, plan.choice.builds, strict=True))
    if not newer or any(verdict.status == DriverVerdict.FORWARD.value for verdict in other.verdicts):
        return plan
    return replace(plan, warnings=(*plan.warnings, _other_reading(cuda, driver, other)))


def _can_show(driver: Version, cuda: Version, platform: str, matrix: Tables) -> bool:
    """Whether nvidia-smi can have shown that CUDA: not where it is beyond the one that the driver reports."""
    shown = reported_cuda(driver, matrix, platform)
    return shown is None or cuda <= shown or shown.starts_with(cuda) or cuda.starts_with(shown)


def _is_broken_there(request: Request, cuda: Version, matrix: Tables) -> bool:
    """Whether a package that was asked for by its own name is known not to work with that CUDA."""
    if not request.companions:
        return False
    from envkit.solver.companions import broken_beside

    own = [build for framework, _ in request.companions for build in matrix.builds(framework) if build.cuda == cuda]
    return any(broken_beside(companion, build) is not None for _, companion in request.companions for build in own[:1])


def _with_backend(request: Request, matrix: Tables) -> Plan | NoPlan | None:
    """The plan for a framework that runs on another (Keras), with the first of those that fits, or the first refusal.

    None for a framework that computes by itself, and where it is not known with which releases it goes.
    """
    refused: NoPlan | None = None
    rows = [matrix.framework(one.name) for one in request.frameworks]
    givers = rows[0].cuda_from if len(rows) == 1 and rows[0] is not None else ()
    alive = [row for name in givers if (row := matrix.framework(name)) is not None and not row.archived]
    for row in alive:
        for pair in _backed_by(row.name, request.frameworks[0]):
            plan = _having(replace(request, frameworks=pair), matrix)
            if isinstance(plan, Plan):
                asked = (request.frameworks[0], pair[1])  # in the words of the user, whatever the backend narrows
                others = [other.name for other in alive if other is not row and _runs_on(plan, other.name)]
                told = _chosen_backend(request.frameworks[0].name, row.title, others)
                return replace(plan, request=replace(plan.request, frameworks=asked), warnings=(told, *plan.warnings))
            if refused is None and pair[1].spec is not None:
                added = f"{request.frameworks[0]} runs on top of another framework, so {pair[1]} was added"
                refused = replace(plan, warnings=(*plan.warnings, added))
    return refused


def _backed_by(backend: str, wanted: FrameworkRequest) -> Iterator[tuple[FrameworkRequest, FrameworkRequest]]:
    """What to ask of a framework and of one that it computes with, newest releases first."""
    rows = [row for row in read(Backend) if row.framework == wanted.name]
    for row in rows:
        versions = VersionSpec.parse(row.versions)
        spec = versions if wanted.spec is None else VersionSpec((*wanted.spec.clauses, *versions.clauses))
        if row.backend == backend and some_version_meets((spec,)):
            own = wanted if wanted.spec is not None and wanted.spec.exact is not None else replace(wanted, spec=spec)
            yield own, FrameworkRequest(backend, VersionSpec.parse(row.backend_versions))
    if not rows:
        yield wanted, FrameworkRequest(backend)


def _runs_on(plan: Plan, backend: str) -> bool:
    """Whether the release that was chosen could compute with another framework as well."""
    build = plan.choice.builds[0]
    return any(pair[1].name == backend for pair in _backed_by(backend, FrameworkRequest(build.framework, _at(build))))


def _at(build: FrameworkBuild) -> VersionSpec:
    return VersionSpec((("==", build.version),))


def _chosen_backend(name: str, backend: str, others: list[str]) -> str:
    told = f"{name} runs on top of another framework; {backend} was chosen"
    choices = series([f"--framework {other}" for other in others], "or")
    return f"{told}: {choices} chooses a different one" if choices else told


def _other_reading(cuda: Version, driver: Version, plan: Plan) -> str:
    names = series(title_of(build) for build in plan.choice.builds)
    return (
        f"if CUDA {cuda} is what nvidia-smi shows, use --driver {driver} instead of --cuda: {names} bundles its own "
        "CUDA and runs on that driver"
    )


def _why_not(refusal: NoPlan, cuda: Version, matrix: Tables) -> str:
    """That there are no packages of that CUDA, or why those that there are do not do."""
    frameworks = refusal.request.frameworks
    if not any(build.cuda == cuda for framework in frameworks for build in matrix.builds(framework.name)):
        return f"no package is built for CUDA {cuda}"
    reasons = "; ".join(conflict.detail for conflict in refusal.conflicts)
    return f"no package built for CUDA {cuda} is suitable ({reasons})"


def _of_extensions(cuda: Version, plan: Plan, matrix: Tables) -> Iterator[str]:
    """That the toolkit which is there does not compile what is added to a framework for another major CUDA version."""
    own = plan.choice.cuda
    if own is None or own.major == cuda.major:
        return
    rows = toolkits_of(own, matrix)
    limit = rows[-1].gcc_max if rows else None
    gcc = f" (and GCC {limit} or older)" if limit is not None else ""
    names = series(title_of(build) for build in plan.choice.builds)
    yield (
        f"extensions for {names} are compiled with the nvcc of CUDA {own.release(2)}{gcc}: with nvcc {cuda}, the "
        "build stops, or the import with undefined symbols"
    )


def _reading(cuda: Version, driver: Version, plan: Plan, cudnn: VersionSpec | None) -> str:
    names = series(title_of(build) for build in plan.choice.builds)
    too, own = (f", and cuDNN {cudnn} as the machine's own", "CUDA and cuDNN") if cudnn else ("", "CUDA")
    return (
        f"CUDA {cuda} was taken as the version that nvidia-smi shows (driver {driver}){too}: {names} bundles its own "
        f"{own} and runs on that driver"
    )
