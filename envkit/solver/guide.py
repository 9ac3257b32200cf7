"""What the table of GPUs says beside its rows: what a GPU still runs."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record, types_of
from envkit.base.versions import ComputeCapability, Version
from envkit.compat.gpu import CodeMatch, code_match, cuda_match, cuda_span
from envkit.compat.software import cudnn_rules_out
from envkit.tables import Matrix
from envkit.tables.browse import NONE
from envkit.tables.rows import FrameworkBuild, GpuModel

NOTHING = Version((-1,), NONE)  # nothing in the data runs; a version, so that a column is of one kind and can be sorted


@record
class GpuGuide(GpuModel):
    """A GPU with what it can still run on Linux x86_64; None where that is unknown, `NOTHING` where nothing runs."""

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
                newest_for(capability, matrix.builds("pytorch"), matrix),
                newest_for(capability, matrix.builds("tensorflow"), matrix),
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


def newest_for(capability: ComputeCapability, builds: Iterable[FrameworkBuild], matrix: Matrix) -> Version | None:
    """The newest release of which a build runs on Linux x86_64; None where that is not known of any, otherwise
    `NOTHING`."""
    doubtful = False
    for build in reversed(tuple(builds)):
        holds = runs(capability, build, matrix)
        if holds:
            return build.version
        doubtful = doubtful or holds is None
    return None if doubtful else NOTHING


def runs(capability: ComputeCapability, build: FrameworkBuild, matrix: Matrix) -> bool | None:
    """Whether the build, the CUDA libraries and the cuDNN that it was made for all hold code; None: not known."""
    if build.cuda is None or build.yanked or "linux" not in build.platforms or "x86_64" not in build.architectures:
        return False
    known = cuda_match(capability, build.cuda, matrix).runs
    code = code_match(capability, build.sass, build.ptx, build.min_compute_capability)
    if known is False or code is CodeMatch.NONE:
        return False
    if cudnn_rules_out(capability, build, matrix):
        return False
    return None if known is None or code is CodeMatch.UNKNOWN else True
