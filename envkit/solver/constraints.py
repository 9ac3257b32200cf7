"""What a request demands of a build: one constraint per relation, with its predicate, what it reads, and its refusal.

The rules themselves are in `envkit.compat`, which knows of no request; here each is held against one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.compat.driver import driver_runs_cuda
from envkit.compat.driver_gpu import last_driver_runs_cuda
from envkit.compat.gpu import CodeMatch, gpu_runs_build, gpu_runs_cuda
from envkit.compat.pythons import has_python, python_has_wheel
from envkit.compat.software import (
    glibc_match,
    glibc_meets,
    gpu_on_cudnn,
    has_own_cudnn,
    needs_system_cuda,
    some_version_meets,
    title_of,
)
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.tables.rows import FrameworkBuild, os_title

if TYPE_CHECKING:
    from envkit.solver.query import Query
    from envkit.solver.request import TargetGpu


@record
class Constraint:
    """One relation that a build has to keep.

    `holds` is None where the tables leave it open, which refuses nothing. With the same values in these columns and
    the same answer of `asks` it says the same; `asks` is None for a query that asks nothing of this relation,
    so that it holds.
    """

    relation: str
    columns: tuple[str, ...]
    asks: Callable[[Query], Hashable]
    holds: Callable[[Query, FrameworkBuild], bool | None]
    refusal: Callable[[Query, FrameworkBuild], Verdict]


# ---- the package


def _no_platform(query: Query, build: FrameworkBuild) -> Verdict:
    detail = f"{title_of(build)} has no package for {os_title(query.request.platform)}"
    return Verdict("platform", "fail", detail, build.sources)


def _no_architecture(query: Query, build: FrameworkBuild) -> Verdict:
    known, wanted = ", ".join(build.architectures), query.request.architecture
    detail = f"{title_of(build)} has known packages for {known}, but none for {wanted}"
    return Verdict("architecture", "fail", detail, build.sources)


def _python(query: Query, build: FrameworkBuild) -> bool | None:
    wanted = query.request.python
    return has_python(build, wanted, query.knowledge.python_span(build)) if wanted else True


def _no_python(query: Query, build: FrameworkBuild) -> Verdict:
    assert query.request.python is not None
    return python_has_wheel(build, query.request.python, query.knowledge.python_span(build))


def _glibc(query: Query, build: FrameworkBuild) -> bool | None:
    return glibc_match(build, query.glibc).fits if query.glibc else True


def _other_glibc(query: Query, build: FrameworkBuild) -> Verdict:
    return glibc_meets(build, query.glibc, where=query.request.os_id or "")


# ---- its CUDA and cuDNN


def _keeps(relation: str) -> Callable[[Query, FrameworkBuild], bool | None]:
    return lambda query, build: relation not in query.against_cuda_of(build)


def _driver(query: Query, build: FrameworkBuild) -> bool | None:
    if "driver-runs-cuda" in query.against_cuda_of(build):
        return False
    return None if build.cuda is not None and query.level(build.cuda) is DriverVerdict.UNKNOWN else True


def _cuda(query: Query, build: FrameworkBuild) -> bool | None:
    if query.request.cuda is not None and query.knowledge.is_cuda_unknown(build):
        return None
    return "cuda-version" not in query.against_cuda_of(build)


def _other_cuda(query: Query, build: FrameworkBuild) -> Verdict:
    detail = f"{build.named} is built for CUDA {build.cuda}, not {query.request.cuda}"
    beside = _made_beside(query, build)
    if beside:
        detail = f"{beside} of the default index is made for {title_of(build)}, not for CUDA {query.request.cuda}"
    return Verdict("cuda-version", "fail", detail, build.sources)


def _made_beside(query: Query, build: FrameworkBuild) -> str:
    """The package asked for next to a framework for whose sake its build for the CUDA asked for is passed over."""
    asked = [companion for name, companion in query.request.companions if name == build.framework]
    if not asked:
        return ""
    from envkit.solver.companions import is_beside

    gpus = query.request.gpus
    others = [
        other
        for other in query.knowledge.build_set(build.framework).builds
        if other.version == build.version and _cuda(query, other)
    ]
    passed = (one for one in asked if any(not is_beside(one, other, gpus, other_cuda=True) for other in others))
    return next((f"{one.package} {one.release}".rstrip() for one in passed), "")


def _no_cuda(relation: str) -> Callable[[Query, FrameworkBuild], Verdict]:
    """The refusal of the CUDA that speaks for a build: its own, or one that it could load, the requested one first."""

    def refusal(query: Query, build: FrameworkBuild) -> Verdict:
        speaking = [build.cuda] if build.cuda else []
        asked = query.request.cuda.exact if query.request.cuda else None
        if asked is not None and build.cuda is not None and asked.starts_with(build.cuda):
            speaking.append(asked)  # a build for 12 is installed with the release of 12 that is asked for
        if needs_system_cuda(build):
            served = [toolkit.version for toolkit in query.knowledge.serving(build)]
            speaking = [*([asked] if asked else []), *speaking, *served]
        refused = (cuda for cuda in speaking if relation in query.cuda_failures(cuda))
        return cuda_verdict(relation, next(refused, build.cuda), query)

    return refusal


def cuda_verdict(relation: str, cuda: Version | None, query: Query) -> Verdict:
    """The verdict by which the driver or a GPU rules out a CUDA version, or the driver a GPU."""
    tables, request = query.knowledge.tables, query.request
    if relation == "gpu-on-driver" and query.driver is not None:
        told = [query.knowledge.gpu_on_driver(gpu, query.driver, request.platform) for gpu in request.gpus]
        return next(verdict for verdict in told if verdict.status == "fail")
    if cuda is None:
        return Verdict(relation, "fail", "no CUDA version fits")
    if relation == "driver-runs-cuda" and query.driver is not None:
        return driver_runs_cuda(query.driver, cuda, tables, data_center=query.data_center, platform=request.platform)
    if relation == "gpu-last-driver":
        gpu, last = _outlived(query)
        return last_driver_runs_cuda(last, cuda, tables, name=str(gpu), platform=request.platform)
    unknown = (gpu for gpu in request.gpus if query.knowledge.gpu_runs_cuda(gpu.compute_capability, cuda) is False)
    gpu = next(unknown, request.gpus[0])
    return gpu_runs_cuda(gpu.compute_capability, cuda, tables, name=str(gpu))


def _outlived(query: Query) -> tuple[TargetGpu, int]:
    """The GPU whose driver ends first, and its last branch."""
    ending = [(query.knowledge.last_branch(gpu), place) for place, gpu in enumerate(query.request.gpus)]
    last, place = min((last, place) for last, place in ending if last is not None)
    return query.request.gpus[place], last


def _cudnn(query: Query, build: FrameworkBuild) -> bool | None:
    wanted = query.request.cudnn
    if wanted is not None and has_own_cudnn(build):
        line = query.together.open_cudnn(build)
        if line is not None:
            return some_version_meets((line.spec, wanted))
        return query.knowledge.cudnn_meets(build, wanted)
    return "cudnn-version" not in query.against_cuda_of(build)


def _other_cudnn(query: Query, build: FrameworkBuild) -> Verdict:
    line = query.together.open_cudnn(build) if has_own_cudnn(build) else None
    later = f" or a later {build.cudnn.major}.x" if line is not None and build.cudnn is not None else ""
    own = f"{build.cudnn}{later}" if build.cudnn is not None else "of its CUDA"
    detail = f"{title_of(build)} needs cuDNN {own}, not {query.request.cudnn}"
    return Verdict("cudnn-version", "fail", detail, build.sources)


# ---- the GPUs


def _code(query: Query, build: FrameworkBuild) -> bool | None:
    if build.cpu_only or not query.request.gpus:
        return True
    matches = {query.knowledge.code_match(gpu.compute_capability, build) for gpu in query.request.gpus}
    if CodeMatch.NONE in matches or (CodeMatch.JIT in matches and not query.can_compile_ptx(build)):
        return False
    if query.knowledge.cuda_from(build):
        return True  # its code is that of another framework, which is judged itself
    if CodeMatch.UNKNOWN in matches:
        from envkit.compat.runtime_code import runtime_code

        known = [runtime_code(gpu.compute_capability, build) for gpu in query.request.gpus]
        if any(row is not None and not row.runs for row in known):
            return False
        return None if None in known else True
    return None if build.cuda is None else True


_CODE_ORDER = list(CodeMatch)


def _no_code(query: Query, build: FrameworkBuild) -> Verdict:
    matches = [query.knowledge.code_match(gpu.compute_capability, build) for gpu in query.request.gpus]
    order = sorted(range(len(matches)), key=lambda place: -_CODE_ORDER.index(matches[place]))
    level = "" if query.can_compile_ptx(build) else "minor-version-compatibility"
    gpus = (query.request.gpus[place] for place in order)
    told = [gpu_runs_build(gpu.compute_capability, build, driver_verdict=level, name=str(gpu)) for gpu in gpus]
    return next((verdict for verdict in told if verdict.status == "fail"), told[0])


def _kernels(query: Query, build: FrameworkBuild) -> bool | None:
    """Whether the build's own cuDNN, or the one that it was made for where its CUDA is not known, has the kernels.

    Of the system's cuDNN only what is certain counts: that none for the build's CUDA has them.
    """
    if build.cudnn is None or build.cpu_only:
        return True
    known = query.knowledge.cudnn_on_gpu
    answers = {known(gpu.compute_capability, build.cudnn, build.cuda) for gpu in query.request.gpus}
    return False if "fail" in answers else None if "unknown" in answers and has_own_cudnn(build) else True


def _no_kernels(query: Query, build: FrameworkBuild) -> Verdict:
    tables, cudnn = query.knowledge.tables, build.cudnn or Version.of(0)
    told = [
        gpu_on_cudnn(gpu.compute_capability, cudnn, build.cuda, tables, name=str(gpu)) for gpu in query.request.gpus
    ]
    return next((verdict for verdict in told if verdict.status == "fail"), told[0])


_CUDA_COLUMNS = ("framework", "cpu_only", "bundles_cuda", "cuda", "cuda_min", "cuda_max", "cudnn")
PYTHON = Constraint(
    "python-has-wheel",
    ("framework", "version", "pythons"),
    lambda query: query.request.python and query.request.python.key,
    _python,
    _no_python,
)
GLIBC = Constraint(
    "glibc-meets-build",
    ("min_glibc", "execstack_glibc"),
    lambda query: query.glibc and query.glibc.parts,
    _glibc,
    _other_glibc,
)
CUDA_VERSION = Constraint("cuda-version", _CUDA_COLUMNS, lambda query: query.cuda_side, _cuda, _other_cuda)
CUDNN_VERSION = Constraint(
    "cudnn-version",
    (*_CUDA_COLUMNS, "package", "index_url", "find_links", "sources"),
    lambda query: query.cuda_side if query.request.cudnn else None,
    _cudnn,
    _other_cudnn,
)
CODE = Constraint(
    "gpu-runs-build",
    ("framework", "version", "cpu_only", "sass", "ptx", "min_compute_capability", "cuda"),
    lambda query: query.machine if query.request.gpus else None,
    _code,
    _no_code,
)
GPU_ON_CUDNN = Constraint(
    "gpu-on-cudnn",
    ("cpu_only", "bundles_cuda", "cuda", "cudnn"),
    lambda query: query.machine if query.request.gpus else None,
    _kernels,
    _no_kernels,
)
# in the order in which they are told
CONSTRAINTS = (
    Constraint(
        "platform",
        ("platforms",),
        lambda query: query.packages,
        lambda query, build: not build.platforms or query.packages in build.platforms,
        _no_platform,
    ),
    Constraint(
        "architecture",
        ("architectures",),
        lambda query: query.request.architecture,
        lambda query, build: not build.architectures or query.request.architecture in build.architectures,
        _no_architecture,
    ),
    PYTHON,
    GLIBC,
    CUDA_VERSION,
    Constraint(
        "gpu-on-driver",
        ("cpu_only",),
        lambda query: query.machine if query.driver and query.request.gpus else None,
        lambda query, build: build.cpu_only or not query.driver_drops_gpu,
        lambda query, build: cuda_verdict("gpu-on-driver", build.cuda, query),
    ),
    Constraint("driver-runs-cuda", _CUDA_COLUMNS, lambda query: query.cuda_side, _driver, _no_cuda("driver-runs-cuda")),
    *(
        Constraint(relation, _CUDA_COLUMNS, lambda query: query.cuda_side, _keeps(relation), _no_cuda(relation))
        for relation in ("gpu-runs-cuda", "gpu-last-driver")
    ),
    CUDNN_VERSION,
    CODE,
    GPU_ON_CUDNN,
)
