"""What numbers mean: PCIe rates, XIDs of the kernel log, NVML and CUDA error codes. The figures are tables."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import read, table


@table("pcie_generations.csv", "generation")
@record
class PcieGeneration:
    """One PCIe generation: transfers per lane in MT/s and what a lane carries one way in MB/s, before headers."""

    generation: int
    megatransfers: int
    megabytes_per_lane: int
    sources: tuple[str, ...]


@table("xid.csv", "code")
@record
class Xid:
    """One error number of the driver's kernel log. `check` is the check that judges it, '' for `xid-other`."""

    code: int
    check: str
    kind: str  # application, driver, firmware, memory, link, hardware, information
    meaning: str
    action: str
    sources: tuple[str, ...]


@table("glibcxx.csv", "symbols")
@record
class LibstdcxxSymbols:
    """The release of GCC whose libstdc++ brought a version of symbols, 3.4.32 of `GLIBCXX_3.4.32`."""

    symbols: Version
    gcc: Version
    sources: tuple[str, ...]


@table("error_codes.csv", "api", "code")
@record
class ErrorCode:
    """One return code of NVML (also nvidia-smi's exit status) or CUDA and the checks that it points to."""

    api: str
    code: int
    name: str
    meaning: str
    checks: tuple[str, ...]
    sources: tuple[str, ...]


@table("visual_studio.csv", "cuda_from")
@record
class VisualStudio:
    """The releases of Visual Studio that the compilers of several CUDA release lines take."""

    cuda_from: Version
    cuda_to: Version
    first: int | None
    last: int
    last_update: Version | None  # the last one of it that they take; None for any
    sources: tuple[str, ...]


@table("module_flavors.csv", "family", "chip")
@record
class ModuleFlavor:
    """Which flavor of the kernel module drives a GPU family; a row with a `chip` overrides its family."""

    family: str
    chip: str
    open: bool
    proprietary: bool
    sources: tuple[str, ...]


@table("limits.csv", "name")
@record
class Limit:
    """One version that checks go by: from which something holds, or that most use."""

    name: str
    version: Version
    sources: tuple[str, ...]


@cache
def pcie_generations() -> tuple[PcieGeneration, ...]:
    """Every PCIe generation, oldest first."""
    return read(PcieGeneration)


@cache
def xids() -> dict[int, Xid]:
    """The XIDs that we can explain, by number."""
    return {row.code: row for row in read(Xid)}


@cache
def error_codes() -> dict[tuple[str, int], ErrorCode]:
    """The error codes by API (`nvml`, `cuda`) and number."""
    return {(row.api, row.code): row for row in read(ErrorCode)}


@cache
def module_flavors() -> tuple[ModuleFlavor, ...]:
    """Which kernel module drives which family, rows for one chip last."""
    return read(ModuleFlavor)


def generation_of(gigatransfers: float) -> PcieGeneration | None:
    """The PCIe generation of a rate in GT/s, None for a rate that is none."""
    return next((row for row in pcie_generations() if abs(row.megatransfers / 1000 - gigatransfers) < 0.1), None)


def gigabytes_per_second(generation: int, lanes: int) -> float | None:
    """What a link carries one way in GB/s (wire figure); None for an unknown generation."""
    row = next((row for row in pcie_generations() if row.generation == generation), None)
    return row.megabytes_per_lane * lanes / 1000 if row else None


def limit(name: str) -> Version:
    """The version that `name` stands for."""
    return _limits()[name]


@cache
def _limits() -> dict[str, Version]:
    return {row.name: row.version for row in read(Limit)}
