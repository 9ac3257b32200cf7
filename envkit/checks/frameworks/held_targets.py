"""The GPUs that an installed build holds code for, as far as its own files, its own words, or the tables tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability
from envkit.checks.frameworks.installs import Installed, build_of
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

Codes = tuple[ComputeCapability, ...]


def of_another_build(environment: Environment, item: Installed, own: ComputeCapability, matrix: Matrix) -> bool:
    """Whether a text's list of targets lacks a GPU that the build named there has code for."""
    from envkit.compat.gpu import CodeMatch, code_match

    row = build_of(environment, item.framework, matrix)
    if not environment.pasted or item.framework.name != "pytorch" or not item.framework.sm_arch_list or row is None:
        return False
    return code_match(own, row.sass, row.ptx, row.min_compute_capability) not in (CodeMatch.NONE, CodeMatch.UNKNOWN)


@record
class Targets:
    """What a build holds code for, and where that is read: in its own file, or in a row that has sources."""

    sass: Codes | None = None
    ptx: Codes | None = None
    minimum: ComputeCapability | None = None
    file: str = ""
    sources: tuple[str, ...] = ()


def targets_of(environment: Environment, item: Installed, matrix: Matrix) -> Targets:
    """Binary and PTX targets of the installation: from its own files, otherwise from the table's row of its build."""
    framework = item.framework
    if framework.sm_arch_list is not None:
        file = f"{framework.path} (fat-binary headers)".strip()
        return Targets(framework.sm_arch_list, framework.ptx_arch_list, file=file)
    row = build_of(environment, framework, matrix)
    if row is None:
        return Targets()
    return Targets(row.sass, row.ptx, row.min_compute_capability, sources=row.sources)
