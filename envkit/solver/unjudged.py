"""What was asked for and cannot be judged, because a build's CUDA or cuDNN is not recorded or comes from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.compat.software import has_own_cudnn, title_of
from envkit.compat.verdict import Verdict
from envkit.solver.model import Choice
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild


def unjudged(build: FrameworkBuild, choice: Choice, query: Query) -> Iterator[Verdict]:
    """A verdict of `unknown` for each part of the request that the build leaves open."""
    givers = query.knowledge.cuda_from(build)
    if givers:
        yield from _given(build, givers, choice, query)
        return
    request, sources = query.request, build.sources
    if query.knowledge.is_cuda_unknown(build):
        told = f"the CUDA that {title_of(build)} uses is not known"
        if request.cuda is not None:
            yield Verdict(
                "cuda-version", "unknown", f"{told}, so it is not known whether it can be {request.cuda}", sources
            )
        for gpu in request.gpus:
            yield Verdict(
                "gpu-runs-cuda", "unknown", f"{told}, so it is not known whether it runs on {gpu.called}", sources
            )
        if query.driver is not None:
            detail = f"{told}, so it is not known whether driver {query.driver} runs it"
            yield Verdict("driver-runs-cuda", "unknown", detail, sources)
    wanted = request.cudnn
    if wanted is not None and has_own_cudnn(build) and query.knowledge.cudnn_meets(build, wanted) is None:
        told = f"the cuDNN of {title_of(build)} is {build.cudnn if build.cudnn else 'not known'}"
        yield Verdict("cudnn-version", "unknown", f"{told}, so it is not known whether it is {wanted}", sources)


def _given(build: FrameworkBuild, givers: tuple[str, ...], choice: Choice, query: Query) -> Iterator[Verdict]:
    """Of a build that uses the CUDA of another framework, where none of those is in the choice."""
    request = query.request
    asked = request.gpus or request.cuda is not None or request.cudnn is not None
    if not asked or any(other.framework in givers for other in choice.builds):
        return
    detail = (
        f"{title_of(build)} uses the CUDA of the framework that it runs on ({', '.join(givers)}), which the request "
        "does not include"
    )
    yield Verdict("cuda-from-another", "unknown", detail, build.sources)
