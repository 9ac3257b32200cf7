"""Frameworks that need no list of GPU code: they compile for the GPU at run time, or their maker names the GPUs."""

from __future__ import annotations

from functools import cache

from envkit.base.versions import ComputeCapability
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild
from envkit.tables.ways import RuntimeCode


def runtime_code(gpu: ComputeCapability, build: FrameworkBuild) -> RuntimeCode | None:
    """Why a build whose code is not on record runs on a GPU that is not below its lowest; None where that is open.

    That the CUDA of the build knows the GPU is a relation of its own.
    """
    row = _rows().get(build.framework)
    if row is None or build.cuda is None:
        return None
    last = row.last_capability
    return row if last is None or (gpu.major, gpu.minor) <= (last.major, last.minor) else None


@cache
def _rows() -> dict[str, RuntimeCode]:
    return {row.framework: row for row in read(RuntimeCode)}
