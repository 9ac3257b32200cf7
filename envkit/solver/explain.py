"""A ruled-out build or toolkit in words: the verdict behind the name of the relation that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, islice, product

from envkit import compat as relations
from envkit.base.versions import Version
from envkit.compat import CodeMatch, ToolkitMatch
from envkit.compat.verdict import Verdict
from envkit.solver.aspects import needs_system_cuda
from envkit.solver.candidates import Candidate, Judge
from envkit.solver.request import TargetGpu
from envkit.tables.rows import FrameworkBuild


def build_verdict(name: str, build: FrameworkBuild, judge: Judge) -> Verdict:
    """The verdict by which the relation `name` rules out a build."""
    explain = _BUILD_REASONS.get(name)
    if explain is not None:
        return Verdict(name, "fail", explain(build, judge), build.sources)
    if name == "glibc-meets-build":
        return relations.glibc_meets(build, judge.glibc, where=judge.request.os_id or "")
    if name == "gpu-runs-build":
        return _code_verdict(build, judge)
    if name == "gpu-on-cudnn":
        return _cudnn_verdict(build, judge)
    return cuda_verdict(name, _effective_cuda(build, judge), judge)


def _effective_cuda(build: FrameworkBuild, judge: Judge) -> Version | None:
    """The CUDA that speaks for a build: its own, or the requested one where it would load that from the system."""
    asked = judge.request.cuda.exact if judge.request.cuda else None
    return asked if asked is not None and needs_system_cuda(build) else build.cuda


_BUILD_REASONS: dict[str, Callable[[FrameworkBuild, Judge], str]] = {
    "platform": lambda build, judge: f"{relations.title_of(build)} has no package for {judge.request.platform}",
    "architecture": lambda build, judge: (
        f"{relations.title_of(build)} has packages on record for {', '.join(build.architectures)}, "
        f"not for {judge.request.architecture}"
    ),
    "python-has-wheel": lambda build, judge: (
        f"{relations.title_of(build)} has no package for Python {judge.request.python}, "
        f"only for {', '.join(str(python) for python in build.pythons)}"
    ),
    "cuda-version": lambda build, judge: (
        f"{build.framework} {build.version} is built for CUDA {build.cuda}, not for {judge.request.cuda}"
    ),
    "cudnn-version": lambda build, judge: (
        f"{relations.title_of(build)} goes with cuDNN {build.cudnn or 'of its CUDA'}, not with {judge.request.cudnn}"
    ),
}


def cuda_verdict(name: str, cuda: Version | None, judge: Judge) -> Verdict:
    """The verdict by which the driver or a GPU rules out a CUDA version, or the driver a GPU."""
    tables, request = judge.knowledge.tables, judge.request
    if name == "gpu-on-driver" and judge.driver is not None:
        told = [judge.knowledge.gpu_on_driver(gpu, judge.driver, request.platform) for gpu in request.gpus]
        return next(verdict for verdict in told if verdict.status == "fail")
    if cuda is None:
        return Verdict(name, "fail", "no CUDA version fits")
    if name == "driver-runs-cuda" and judge.driver is not None:
        return relations.driver_runs_cuda(
            judge.driver, cuda, tables, data_center=judge.data_center, platform=request.platform
        )
    if name == "gpu-last-driver":
        gpu, last = _outlived(judge, cuda)
        return relations.last_driver_runs_cuda(last, cuda, tables, name=str(gpu), platform=request.platform)
    gpu = next((gpu for gpu in request.gpus if _unknown_to(gpu, cuda, judge)), request.gpus[0])
    return relations.gpu_runs_cuda(gpu.compute_capability, cuda, tables, name=str(gpu))


def _unknown_to(gpu: TargetGpu, cuda: Version, judge: Judge) -> bool:
    match = judge.knowledge.cuda_match(gpu.compute_capability, cuda)
    return match in (ToolkitMatch.TOO_NEW, ToolkitMatch.DROPPED)


def _outlived(judge: Judge, cuda: Version) -> tuple[TargetGpu, int]:
    """The GPU whose driver ends first, and its last branch."""
    ending = [(judge.knowledge.last_branch(gpu), index) for index, gpu in enumerate(judge.request.gpus)]
    last, index = min((last, index) for last, index in ending if last is not None)
    return judge.request.gpus[index], last


def _code_verdict(build: FrameworkBuild, judge: Judge) -> Verdict:
    worst = max(judge.request.gpus, key=lambda gpu: _CODE_ORDER.index(_match(gpu, build, judge)))
    level = "" if judge.can_compile_ptx(build) else "minor-version-compatibility"
    return relations.gpu_runs_build(worst.compute_capability, build, driver_verdict=level, name=str(worst))


_CODE_ORDER = list(CodeMatch)


def _match(gpu: TargetGpu, build: FrameworkBuild, judge: Judge) -> CodeMatch:
    return judge.knowledge.code_match(gpu.compute_capability, build)


def _cudnn_verdict(build: FrameworkBuild, judge: Judge) -> Verdict:
    tables = judge.knowledge.tables
    cudnn = build.cudnn or Version.of(0)
    told = [
        relations.gpu_on_cudnn(gpu.compute_capability, cudnn, build.cuda, tables, name=str(gpu))
        for gpu in judge.request.gpus
    ]
    return next((verdict for verdict in told if verdict.status == "fail"), told[0])


def toolkit_reason(judge: Judge) -> Verdict:
    """Why no CUDA toolkit alone meets the request."""
    request, tables = judge.request, judge.knowledge.tables
    if judge.driver_drops_gpu:
        return cuda_verdict("gpu-on-driver", None, judge)
    asked = [row for row in tables.toolkits if request.cuda is None or request.cuda.holds(row.version)]
    if not asked:
        newest = tables.toolkits[-1].version
        return Verdict("cuda-version", "fail", f"no CUDA toolkit is {request.cuda}; the newest on record is {newest}")
    if asked and not any(_serves_all(row.version, judge) for row in tables.toolkits):
        return _generations_apart(judge)
    for row in reversed(asked):
        if not judge.cuda_failures(row.version):
            detail = f"no cuDNN {request.cudnn} is made for CUDA {row.version}"
            return Verdict("cudnn-version", "fail", detail, row.sources)
    oldest_first = "driver-runs-cuda" in judge.cuda_failures(asked[0].version)
    row = asked[0] if oldest_first else asked[-1]
    return cuda_verdict(judge.cuda_failures(row.version)[0], row.version, judge)


def _serves_all(cuda: Version, judge: Judge) -> bool:
    return not any(_unknown_to(gpu, cuda, judge) for gpu in judge.request.gpus)


def _generations_apart(judge: Judge) -> Verdict:
    """Why no CUDA serves several GPUs: the releases that know each."""
    tables = judge.knowledge.tables
    spans = []
    for gpu in judge.request.gpus:
        first, last = relations.cuda_span(gpu.compute_capability, tables)
        spans.append(f"{gpu} is known to CUDA {first} to {last}")
    sources = tables.toolkits[-1].sources
    return Verdict("gpu-runs-cuda", "fail", f"no CUDA release serves them all: {'; '.join(spans)}", sources)


def joint_reason(judge: Judge) -> Verdict:
    """Why frameworks that each have a build cannot share one environment: the clash of the builds that come nearest."""
    groups = [_distinct(judge.candidates(framework), judge) for framework in judge.request.frameworks]
    builds, shared = _nearest(groups, judge)
    sources = tuple(dict.fromkeys(key for build in builds for key in build.sources))
    if shared is not None and not shared:
        wants = "; ".join(
            f"{relations.title_of(build)} has packages for Python {', '.join(map(str, build.pythons))}"
            for build in builds
        )
        return Verdict("python-has-wheel", "fail", f"they share no Python: {wants}", sources)
    pairs = (verdict for pair in combinations(builds, 2) for verdict in judge.together.verdicts(*pair))
    apart = next((verdict for verdict in pairs if verdict.status == "fail"), None)
    if apart is not None:
        return apart
    numpy = relations.numpy_agree(builds, max(shared) if shared else None)
    if numpy.status == "fail":
        return numpy
    wants = "; ".join(f"{relations.title_of(build)}" for build in builds if needs_system_cuda(build))
    return Verdict("toolkit-serves-build", "fail", f"no one system CUDA toolkit serves them: {wants}", sources)


def _distinct(candidates: Iterable[Candidate], judge: Judge) -> list[Candidate]:
    """The best candidate of each kind: those with the same needs clash alike."""
    kinds: dict[object, Candidate] = {}
    for candidate in candidates:
        kinds.setdefault(judge.kind(candidate), candidate)
    return list(kinds.values())


_LOOKED_AT = 5_000  # combinations of kinds before the nearest so far is good enough


def _nearest(groups: list[list[Candidate]], judge: Judge) -> tuple[list[FrameworkBuild], frozenset[Version] | None]:
    """The builds, one of each group, that get furthest before they clash, and the Pythons they share (None: any)."""
    best, furthest = tuple(group[0] for group in groups), -1
    for combination in islice(product(*groups), _LOOKED_AT):
        steps = _steps(combination, judge)
        if steps > furthest:
            best, furthest = combination, steps
        if steps == len(_STEPS):
            break
    return [candidate.build for candidate in best], _shared(best)


def _steps(combination: tuple[Candidate, ...], judge: Judge) -> int:
    """How many things the candidates share before the first that they do not."""
    return next((number for number, shares in enumerate(_STEPS) if not shares(combination, judge)), len(_STEPS))


def _go_together(combination: Iterable[Candidate], judge: Judge) -> bool:
    pairs = combinations([candidate.build for candidate in combination], 2)
    return all(judge.together.status(*pair) != "fail" for pair in pairs)


def _shared(combination: Iterable[Candidate]) -> frozenset[Version] | None:
    known = [candidate.pythons for candidate in combination if candidate.pythons]
    return frozenset.intersection(*known) if known else None


def _toolkits_shared(combination: Iterable[Candidate]) -> bool:
    needed = [
        {row.version.parts for row in candidate.toolkits} for candidate in combination if candidate.toolkits is not None
    ]
    return not needed or bool(set.intersection(*needed))


_STEPS: tuple[Callable[[tuple[Candidate, ...], Judge], bool], ...] = (
    lambda combination, _: _shared(combination) != frozenset(),
    _go_together,
    lambda combination, _: _toolkits_shared(combination),
)
