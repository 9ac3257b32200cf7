"""Frameworks that need no list of GPU code: they compile for the GPU at run time, or their maker names the GPUs."""

from __future__ import annotations

from functools import cache

from envkit.base.versions import ComputeCapability, VersionSpec
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild
from envkit.tables.ways import RuntimeCode


def runtime_code(gpu: ComputeCapability, build: FrameworkBuild) -> RuntimeCode | None:
    """Why a build whose code is not on record runs, or not, on a GPU not below its lowest; None where that is open.

    That the CUDA of the build knows the GPU is a relation of its own.
    """
    rows = _rows().get(build.framework, ()) if build.cuda is not None else ()
    return next((row for row in rows if _is_of(row, build) and _is_for(row, gpu)), None)


def _is_of(row: RuntimeCode, build: FrameworkBuild) -> bool:
    cuda = VersionSpec.parse(row.cuda)
    return VersionSpec.parse(row.versions).holds(build.version) and build.cuda is not None and cuda.holds(build.cuda)


def _is_for(row: RuntimeCode, gpu: ComputeCapability) -> bool:
    first, last = row.first_capability, row.last_capability
    return (first is None or gpu.numbers >= first.numbers) and (last is None or gpu.numbers <= last.numbers)


@cache
def _rows() -> dict[str, tuple[RuntimeCode, ...]]:
    found: dict[str, tuple[RuntimeCode, ...]] = {}
    for row in read(RuntimeCode):
        found[row.framework] = (*found.get(row.framework, ()), row)
    return found
