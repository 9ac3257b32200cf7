"""What each GPU can still run: its last CUDA and the newest builds that hold code for it, for choosing a card."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.matrix import Matrix
from envkit.matrix.rows import FrameworkBuild, GpuModel
from envkit.plan.relations.gpu import CodeMatch, ToolkitMatch, code_match, cuda_match, cuda_span
from envkit.plan.relations.software import gpu_on_cudnn
from envkit.records import record, types_of
from envkit.versions import ComputeCapability, Version

_RUNS = (CodeMatch.NATIVE, CodeMatch.BINARY, CodeMatch.JIT)
_KNOWS = (ToolkitMatch.TARGET, ToolkitMatch.BINARY)


@record
class GpuGuide(GpuModel):
    """A GPU with what it can still run on Linux x86_64; None where that is unknown or nothing is known to run."""

    last_cuda: Version | None
    newest_pytorch: Version | None
    newest_tensorflow: Version | None


def gpu_guide(matrix: Matrix) -> tuple[GpuGuide, ...]:
    """Every GPU with its last CUDA release line and the newest PyTorch and TensorFlow that hold code for it.

    A Jetson runs builds and a CUDA of its own, which have no rows here, so all three are unknown for it.
    """
    reaches: dict[ComputeCapability, tuple[Version | None, Version | None, Version | None]] = {}
    guides = []
    for gpu in matrix.gpus:
        capability = gpu.compute_capability
        if capability not in reaches:
            reaches[capability] = (
                cuda_span(capability, matrix)[1],
                _newest(capability, matrix.builds("pytorch"), matrix),
                _newest(capability, matrix.builds("tensorflow"), matrix),
            )
        cuda, pytorch, tensorflow = reaches[capability]
        desktop = gpu.variant != "jetson"
        facts = {name: getattr(gpu, name) for name in types_of(GpuModel)}
        guides.append(
            GpuGuide(
                **facts,
                last_cuda=cuda if desktop else None,
                newest_pytorch=pytorch if desktop else None,
                newest_tensorflow=tensorflow if desktop else None,
            )
        )
    return tuple(guides)


def _newest(capability: ComputeCapability, builds: Iterable[FrameworkBuild], matrix: Matrix) -> Version | None:
    running = (build.version for build in reversed(tuple(builds)) if _runs(capability, build, matrix))
    return next(running, None)


def _runs(capability: ComputeCapability, build: FrameworkBuild, matrix: Matrix) -> bool:
    """True when the build, the CUDA libraries and the cuDNN that it was made for all hold code for the GPU."""
    if build.cuda is None or build.yanked or cuda_match(capability, build.cuda, matrix) not in _KNOWS:
        return False
    if code_match(capability, build.sass, build.ptx, build.min_compute_capability) not in _RUNS:
        return False
    return build.cudnn is None or gpu_on_cudnn(capability, build.cudnn, build.cuda, matrix).status != "fail"
