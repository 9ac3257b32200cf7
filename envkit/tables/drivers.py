"""Tables on the driver beside its branches: what distributions call it, its kernels, and which PTX it knows."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("ptx_isa.csv", "ptx")
@record
class PtxIsa:
    """The first CUDA whose tools and driver know a version of PTX, which linkers name instead of CUDA's."""

    ptx: Version
    cuda: Version
    sources: tuple[str, ...]


@table("driver_packages.csv", "branch", "family", kind=("legacy", "kept"))
@record
class DriverPackage:
    """How a family of distributions calls the driver of a branch, where that is not its name for the others."""

    branch: int
    family: str
    package: str
    kind: str  # legacy: only releases as old as the branch have it; kept: next to the current one
    sources: tuple[str, ...]


@table("driver_kernels.csv", "driver")
@record
class DriverKernel:
    """The newest kernel that a release of the driver is known to be built for, of branches in order."""

    driver: Version
    kernel: Version
    sources: tuple[str, ...]
