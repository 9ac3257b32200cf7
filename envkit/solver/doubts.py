"""What a choice of builds would leave unknown, in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from envkit.solver.constraints import CONSTRAINTS
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild

SHARING = "whether they can share their CUDA libraries"
# in the order in which they are told
_WORDS = {
    "cuda-version": "whether it has the requested CUDA and cuDNN",
    "cudnn-version": "whether it has the requested CUDA and cuDNN",
    "driver-runs-cuda": "whether the driver supports its CUDA",
    "gpu-runs-build": "whether it runs on that GPU",
    "python-has-wheel": "the Python versions that it has packages for",
    "glibc-meets-build": "the glibc that it needs",
}


def doubts_of(builds: tuple[FrameworkBuild, ...], query: Query) -> tuple[str, ...]:
    """What the tables leave open of these builds under a request, each thing once."""
    names = {build.framework for build in builds}
    each = (doubt for build in builds for doubt in _of_build(build, names, query))
    apart = (query.together.status(*pair) in ("unknown", "apart") for pair in combinations(builds, 2))
    shared = (SHARING,) if any(apart) else ()
    return tuple(dict.fromkeys((*each, *shared)))


def _of_build(build: FrameworkBuild, names: set[str], query: Query) -> Iterator[str]:
    request, givers = query.request, query.knowledge.cuda_from(build)
    if givers and names.isdisjoint(givers) and (request.gpus or request.cuda or request.cudnn):
        yield "which CUDA it uses"
    unknown = {constraint.relation for constraint in CONSTRAINTS if constraint.holds(query, build) is None}
    yield from (words for relation, words in _WORDS.items() if relation in unknown)
