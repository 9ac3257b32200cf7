"""What a choice of builds would leave unknown, in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from envkit.compat import CodeMatch
from envkit.compat.verdict import DriverVerdict
from envkit.solver.candidates import may_differ
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild


def doubts_of(builds: tuple[FrameworkBuild, ...], query: Query) -> tuple[str, ...]:
    """What the tables leave open of these builds under a request, each thing once."""
    names = {build.framework for build in builds}
    each = (doubt for build in builds for doubt in _of_build(build, names, query))
    apart = (query.together.status(*pair) in ("unknown", "apart") for pair in combinations(builds, 2))
    shared = ("whether they can share their CUDA libraries",) if any(apart) else ()
    return tuple(dict.fromkeys((*each, *shared)))


def _of_build(build: FrameworkBuild, names: set[str], query: Query) -> Iterator[str]:
    knowledge, request = query.knowledge, query.request
    givers = knowledge.cuda_from(build)
    if givers and names.isdisjoint(givers) and (request.gpus or request.cuda or request.cudnn):
        yield "which CUDA it uses"
    if may_differ(query, build):
        yield "whether it has the requested CUDA and cuDNN"
    if build.cuda is not None and query.level(build.cuda) is DriverVerdict.UNKNOWN:
        yield "whether the driver runs its CUDA"
    if request.gpus and not build.cpu_only and not givers:
        codes = (knowledge.code_match(gpu.compute_capability, build) for gpu in request.gpus)
        if knowledge.is_cuda_unknown(build) or any(code is CodeMatch.UNKNOWN for code in codes):
            yield "whether it runs on the GPU"
    if request.python is not None and not build.pythons:
        yield "the Python versions that it has packages for"
    if query.glibc is not None and build.min_glibc is None:
        yield "the glibc that it needs"
