"""What each GPU can still run: its last CUDA and the newest builds that hold code for it, for choosing a card."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.matrix import Matrix
from envkit.matrix.rows import FrameworkBuild, GpuModel, Toolkit
from envkit.plan.relations.gpu import CodeMatch, ToolkitMatch, code_match, toolkit_match
from envkit.records import record
from envkit.versions import ComputeCapability, Version

_RUNS = (CodeMatch.NATIVE, CodeMatch.BINARY, CodeMatch.JIT)


@record
class GpuGuide(GpuModel):
    """A GPU with what it can still run on Linux x86_64; None where that is unknown or nothing is known to run."""

    last_cuda: Version | None
    newest_pytorch: Version | None
    newest_tensorflow: Version | None


def gpu_guide(matrix: Matrix) -> tuple[GpuGuide, ...]:
    """Every GPU with its last CUDA release line and the newest PyTorch and TensorFlow that hold code for it.

    A Jetson runs builds of its own, which have no rows here, so the two are unknown for it.
    """
    reaches: dict[ComputeCapability, tuple[Version | None, Version | None, Version | None]] = {}
    guides = []
    for gpu in matrix.gpus:
        capability = gpu.compute_capability
        if capability not in reaches:
            reaches[capability] = (
                _last_cuda(capability, matrix.toolkits),
                _newest(capability, matrix.builds("pytorch")),
                _newest(capability, matrix.builds("tensorflow")),
            )
        cuda, pytorch, tensorflow = reaches[capability]
        desktop = gpu.variant != "jetson"
        facts = {name: getattr(gpu, name) for name in GpuModel.__dataclass_fields__}
        guides.append(
            GpuGuide(
                **facts,
                last_cuda=cuda,
                newest_pytorch=pytorch if desktop else None,
                newest_tensorflow=tensorflow if desktop else None,
            )
        )
    return tuple(guides)


def _last_cuda(capability: ComputeCapability, toolkits: Iterable[Toolkit]) -> Version | None:
    held = [row.release for row in toolkits if toolkit_match(capability, row) is ToolkitMatch.TARGET]
    return held[-1] if held else None


def _newest(capability: ComputeCapability, builds: Iterable[FrameworkBuild]) -> Version | None:
    running = (
        build.version
        for build in builds
        if build.cuda is not None
        and not build.yanked
        and code_match(capability, build.sass, build.ptx, build.min_compute_capability) in _RUNS
    )
    return max(running, default=None)
