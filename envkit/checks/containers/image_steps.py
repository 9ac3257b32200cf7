"""A step of an image's build that needs what only a running container has: the GPU and the driver's libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.containers.image_stops import GPU_AT_BUILD
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, ok, skip
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NEEDS_GPU = Fault(
    GPU_AT_BUILD.id,
    GPU_AT_BUILD.title,
    impact="The image is not built. The host's driver and its containers are not the cause.",
    remedy="Make sure that no RUN step needs the GPU: set the GPU targets (CMAKE_CUDA_ARCHITECTURES or "
    "TORCH_CUDA_ARCH_LIST) instead of having them detected, link against the stub in the toolkit's lib64/stubs "
    "directory, set LIBRARY_PATH to that directory for this one step only, and look for the GPU when the container "
    "starts. BuildKit ignores the engine's default runtime, so that does not help. `docker run --rm --gpus all IMAGE "
    "nvidia-smi` shows whether a container has the GPU.",
    steps=(fixed("docker run --rm --gpus all IMAGE nvidia-smi"),),
)


@check(
    _NEEDS_GPU,
    layer=Layer.PLACE,
    rank=18,
    of_images=GPU_AT_BUILD,
    references=GPU_AT_BUILD.references,
)
def gpu_at_build(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No step of an image's build needs a GPU or the driver's libraries.

    The container toolkit provides both when a container runs, not while its image is built.
    """
    if reported := _NEEDS_GPU.reported(environment):
        yield reported
    elif passed(environment, "kernel"):
        yield ok("a framework computed on the GPU", evidence=[known(environment, "measurements", "kernel")])
    else:
        yield skip(ONLY_TOLD)
