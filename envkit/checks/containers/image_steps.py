"""A step of an image's build that needs what only a running container has: the GPU and the driver's libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.containers.image_stops import GPU_AT_BUILD
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, Remedy, ok, skip
from envkit.checks.engine.messages import seen
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "image.gpu-at-build"
_ARCHITECTURES = (
    "PyTorch asks the GPU for its compute capability, because no GPU targets are set. Name them before the build step, "
    "as a line of the Dockerfile: ENV TORCH_CUDA_ARCH_LIST='Pascal;Volta;Turing', with the families (or the compute "
    "capabilities: envkit matrix gpus lists them) of the GPUs that the image is to run on: Ampere, Ada, and Hopper, "
    "too, if the image's CUDA is new enough for them. The build then needs no GPU and no driver. FORCE_CUDA=1, if the "
    "project has it, stays."
)
_AT_IMPORT = (
    "The step imports a framework that loads the driver's libcuda.so.1, which is not there during a build. Import it "
    "only when the container runs (in ENTRYPOINT or CMD, with --gpus all). If the step cannot avoid the import, let it "
    "load the toolkit's stub instead, for this one line only, because the stub would hide the real driver later: RUN "
    "mkdir /tmp/stubs && ln -s /usr/local/cuda/lib64/stubs/libcuda.so /tmp/stubs/libcuda.so.1 && "
    "LD_LIBRARY_PATH=/tmp/stubs COMMAND && rm -r /tmp/stubs. Images without the toolkit (runtime tags) have no stub: "
    "build in a devel one."
)
_NO_GPU_IN_BUILD = (
    "Make sure that no RUN step needs the GPU: set the GPU targets (CMAKE_CUDA_ARCHITECTURES or "
    "TORCH_CUDA_ARCH_LIST) instead of having them detected, link against the stub in the toolkit's lib64/stubs "
    "directory, set LIBRARY_PATH to that directory for this one step only, and look for the GPU when the container "
    "starts. BuildKit ignores the engine's default runtime, so that does not help. `docker run --rm --gpus all IMAGE "
    "nvidia-smi` shows whether a container has the GPU."
)


def _without_gpu(environment: Environment, matrix: Matrix) -> Remedy:
    """By what the step wants of the GPU."""
    if seen(environment, _ID, "detail-torch-targets"):
        return Remedy(_ARCHITECTURES)
    if seen(environment, _ID, "detail-import"):
        return Remedy(_AT_IMPORT)
    return Remedy(_NO_GPU_IN_BUILD, (fixed("docker run --rm --gpus all IMAGE nvidia-smi"),))


_NEEDS_GPU = Fault(
    GPU_AT_BUILD.id,
    GPU_AT_BUILD.title,
    impact="The image is not built. The host's driver and its containers are not the cause.",
    remedy=_without_gpu,
)


@check(
    _NEEDS_GPU,
    layer=Layer.PLACE,
    rank=18,
    of_images=GPU_AT_BUILD,
    fix="Name the GPU targets, link against the toolkit's stubs, and use the GPU only when the container runs.",
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
