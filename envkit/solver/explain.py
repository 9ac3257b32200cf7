"""Why no toolkit meets a query, or why builds that each pass cannot share one environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, islice, product

from envkit.base.versions import Version
from envkit.compat.gpu import cuda_span, oldest_cuda
from envkit.compat.software import gpu_on_cudnn, needs_system_cuda, numpy_agree, title_of
from envkit.compat.verdict import Verdict
from envkit.solver.candidates import Candidate, candidates, kind
from envkit.solver.constraints import cuda_verdict
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild, Toolkit


def toolkit_reason(query: Query) -> Verdict:
    """Why no CUDA toolkit alone meets the request."""
    request, tables = query.request, query.knowledge.tables
    if query.driver_drops_gpu:
        return cuda_verdict("gpu-on-driver", None, query)
    asked = [row for row in tables.toolkits if request.cuda is None or request.cuda.holds(row.version)]
    if not asked:
        newest = tables.toolkits[-1].version
        return Verdict(
            "cuda-version", "fail", (f"no known CUDA toolkit matches {request.cuda}; the newest known is {newest}")
        )
    if asked and not any(_serves_all(row.version, query) for row in tables.toolkits):
        return _generations_apart(query)
    for row in reversed(asked):
        if not query.cuda_failures(row.version):
            alone = query.against_alone(row) if query.toolkit_alone and query.cudnn_allowed(row, None) else None
            return alone or _no_cudnn(row, query)
    oldest_first = "driver-runs-cuda" in query.cuda_failures(asked[0].version)
    row = asked[0] if oldest_first else asked[-1]
    return cuda_verdict(query.cuda_failures(row.version)[0], row.version, query)


def _no_cudnn(toolkit: Toolkit, query: Query) -> Verdict:
    """Why a toolkit gets no cuDNN as requested: none is made for it, or the newest has no kernels for a GPU."""
    request, knowledge = query.request, query.knowledge
    made = knowledge.cudnns_meeting(request.cudnn, toolkit, request.architecture) if request.cudnn else None
    for gpu in request.gpus if made else ():
        cuda, newest = toolkit.version, max(made or ())
        verdict = gpu_on_cudnn(gpu.compute_capability, newest, cuda, knowledge.tables, name=str(gpu))
        if verdict.status == "fail":
            return verdict
    detail = f"no cuDNN {request.cudnn} is built for CUDA {toolkit.version}"
    return Verdict("cudnn-version", "fail", detail, toolkit.sources)


def _serves_all(cuda: Version, query: Query) -> bool:
    return not any(query.knowledge.gpu_runs_cuda(gpu.compute_capability, cuda) is False for gpu in query.request.gpus)


def _generations_apart(query: Query) -> Verdict:
    """Why no CUDA serves several GPUs: the releases that know each."""
    tables = query.knowledge.tables
    spans = []
    for gpu in query.request.gpus:
        first, last = cuda_span(gpu.compute_capability, tables)
        if last is None:
            spans.append(f"{gpu.called} is supported only by releases before {oldest_cuda(tables)}")
            continue
        since = "CUDA" if first == oldest_cuda(tables) else f"CUDA {first} to"
        spans.append(f"{gpu.called} is supported by {since} {last}" + (" and older" if since == "CUDA" else ""))
    sources = tables.toolkits[-1].sources
    whom = {1: "it", 2: "both of them"}.get(len(spans), "all of them")
    return Verdict(
        "gpu-runs-cuda",
        "fail",
        f"no CUDA release supports {whom}: {'; '.join(spans)}",
        sources,
    )


def joint_reason(query: Query) -> Verdict:
    """Why frameworks that each have a build cannot share one environment: the clash of the builds that come nearest."""
    groups = [_distinct(candidates(query, framework), query) for framework in query.request.frameworks]
    builds, shared = _nearest(groups, query)
    sources = tuple(dict.fromkeys(key for build in builds for key in build.sources))
    if shared is not None and not shared:
        wants = "; ".join(
            f"{title_of(build)} has packages for Python {', '.join(map(str, build.pythons))}" for build in builds
        )
        return Verdict("python-has-wheel", "fail", f"they have no Python version in common: {wants}", sources)
    pairs = (verdict for pair in combinations(builds, 2) for verdict in query.together.verdicts(*pair))
    apart = next((verdict for verdict in pairs if verdict.status == "fail"), None)
    if apart is not None:
        return apart
    numpy = numpy_agree(builds)
    if numpy.status == "fail":
        return numpy
    wants = "; ".join(f"{title_of(build)}" for build in builds if needs_system_cuda(build))
    return Verdict(
        "toolkit-serves-build", "fail", f"no single CUDA toolkit on the system works for all of them: {wants}", sources
    )


def _distinct(among: Iterable[Candidate], query: Query) -> list[Candidate]:
    """The best candidate of each kind: those with the same needs clash alike."""
    kinds: dict[object, Candidate] = {}
    for one in among:
        kinds.setdefault(kind(query, one), one)
    return list(kinds.values())


_LOOKED_AT = 5_000  # combinations of kinds before the nearest so far is good enough


def _nearest(groups: list[list[Candidate]], query: Query) -> tuple[list[FrameworkBuild], frozenset[Version] | None]:
    """The builds, one of each group, that get furthest before they clash, and the Pythons they share (None: any)."""
    best, furthest = tuple(group[0] for group in groups), -1
    for combination in islice(product(*groups), _LOOKED_AT):
        steps = _steps(combination, query)
        if steps > furthest:
            best, furthest = combination, steps
        if steps == len(_STEPS):
            break
    return [candidate.build for candidate in best], _shared(best)


def _steps(combination: tuple[Candidate, ...], query: Query) -> int:
    """How many things the candidates share before the first that they do not."""
    return next((number for number, shares in enumerate(_STEPS) if not shares(combination, query)), len(_STEPS))


def _go_together(combination: Iterable[Candidate], query: Query) -> bool:
    pairs = combinations([candidate.build for candidate in combination], 2)
    return all(query.together.status(*pair) != "fail" for pair in pairs)


def _shared(combination: Iterable[Candidate]) -> frozenset[Version] | None:
    known = [candidate.pythons for candidate in combination if candidate.pythons]
    return frozenset.intersection(*known) if known else None


def _toolkits_shared(combination: Iterable[Candidate]) -> bool:
    needed = [
        {row.version.parts for row in candidate.toolkits} for candidate in combination if candidate.toolkits is not None
    ]
    return not needed or bool(set.intersection(*needed))


_STEPS: tuple[Callable[[tuple[Candidate, ...], Query], bool], ...] = (
    lambda combination, _: _shared(combination) != frozenset(),
    _go_together,
    lambda combination, _: _toolkits_shared(combination),
)
