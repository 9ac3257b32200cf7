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
    if build.cuda is None:
        return None
    for row, versions, cudas in _rows().get(build.framework, ()):
        if _is_for(row, gpu) and versions.holds(build.version) and cudas.holds(build.cuda):
            return row
    return None


def _is_for(row: RuntimeCode, gpu: ComputeCapability) -> bool:
    first, last = row.first_capability, row.last_capability
    return (first is None or gpu.numbers >= first.numbers) and (last is None or gpu.numbers <= last.numbers)


@cache
def _rows() -> dict[str, list[tuple[RuntimeCode, VersionSpec, VersionSpec]]]:
    """Each framework's rows, with what their columns of versions and of CUDA hold: read once, asked of each build."""
    found: dict[str, list[tuple[RuntimeCode, VersionSpec, VersionSpec]]] = {}
    for row in read(RuntimeCode):
        told = (row, VersionSpec.parse(row.versions), VersionSpec.parse(row.cuda))
        found.setdefault(row.framework, []).append(told)
    return found
