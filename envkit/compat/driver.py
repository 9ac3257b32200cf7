"""The driver: which CUDA it runs, and by which of NVIDIA's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.records import record
from envkit.base.kept import kept
from envkit.base.platforms import WINDOWS_DRIVERS
from envkit.base.versions import Version
from envkit.compat.cuda_line import sources_of, toolkits_of
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.tables.rows import DriverBranch, Toolkit

SUPPORTED_KINDS = ("lts", "production")  # branches that NVIDIA builds cuda-compat for


@record
class DriverFloors:
    """The lowest drivers for one CUDA version: `native`, and `minor_version` for NVIDIA's rule from CUDA 11 on."""

    cuda: Version
    native: Version | None
    minor_version: Version | None

    @property
    def lowest(self) -> Version | None:
        """The lowest driver that runs it in either way."""
        return min((floor for floor in (self.native, self.minor_version) if floor), default=None)


def driver_floors(cuda: Version, tables: Tables, platform: str = "linux") -> DriverFloors:
    """The driver floors of a CUDA version or release line; of a line the lowest of its releases.

    Where the release notes' floor is not recorded, the first branch that reports this CUDA stands in for it.
    """
    return floors_of(cuda, toolkits_of(cuda, tables), tables, platform)


def floors_of(cuda: Version, rows: Sequence[Toolkit], tables: Tables, platform: str) -> DriverFloors:
    """`driver_floors` for a CUDA whose toolkits are available."""
    if platform in WINDOWS_DRIVERS:
        pairs = [(row.minimum_windows_driver, row.minor_compatibility_windows_driver) for row in rows]
    else:
        pairs = [(row.minimum_driver, row.minor_compatibility_driver) for row in rows]
    native = min((floor for floor, _ in pairs if floor), default=None)
    minor = min((floor for _, floor in pairs if floor), default=None)
    return DriverFloors(cuda, native or first_branch_floor(cuda, tables), minor)


def first_branch_floor(cuda: Version, tables: Tables) -> Version | None:
    """The first driver whose branch reports this CUDA or a later one; None when no branch is known to."""
    release = cuda.release(2)
    for branch in tables.driver_branches:
        if branch.driver_cuda_version is not None and branch.driver_cuda_version >= release:
            return Version.of(branch.branch)
    return None


def compat_branches(line: Iterable[Toolkit]) -> tuple[int, ...] | None:
    """The driver branches that the cuda-compat package of a CUDA release line takes; None where none is recorded.

    NVIDIA's images name them in NVIDIA_REQUIRE_CUDA; the package is one for all releases of the line.
    """
    known = [row.compat_branches for row in line if row.compat_branches is not None]
    return tuple(sorted({branch for branches in known for branch in branches})) if known else None


def driver_level(
    driver: Version,
    floors: DriverFloors,
    branch: DriverBranch | None = None,
    data_center: bool = False,
    compat: tuple[int, ...] | None = None,
) -> DriverVerdict:
    """How this driver runs the CUDA version of `floors`.

    `data_center`: every GPU is a data center model under Linux, the only ones that `cuda-compat` works on. `compat`:
    the branches that it takes.
    """
    if floors.native is None:
        return DriverVerdict.UNKNOWN
    if driver >= floors.native:
        return DriverVerdict.NATIVE
    if floors.minor_version is not None and driver >= floors.minor_version:
        return DriverVerdict.MINOR_VERSION
    if not data_center:
        return DriverVerdict.INCOMPATIBLE
    if compat is not None:
        return DriverVerdict.FORWARD if driver.major in compat else DriverVerdict.INCOMPATIBLE
    if floors.minor_version is None or branch is None or not branch.kind:
        return DriverVerdict.UNKNOWN
    return DriverVerdict.UNKNOWN if _may_have_compat(branch, floors.cuda) else DriverVerdict.INCOMPATIBLE


def _may_have_compat(branch: DriverBranch, cuda: Version) -> bool:
    """Whether NVIDIA may make cuda-compat of this CUDA for the branch: a supported kind, at most one major older.

    Source: NVIDIA CUDA Compatibility, table of forward compatibility by driver branch.
    """
    reported = branch.driver_cuda_version
    near = reported is not None and cuda.major - reported.major <= 1
    return near and branch.kind.lower().startswith(SUPPORTED_KINDS)


def branch_number(driver: Version, tables: Tables, platform: str = "linux") -> int | None:
    """The branch that a driver is of: on Linux its first number, on Windows what the table says; None: not recorded.

    Who names a driver seldom names the system: a number that only Windows has is one for Windows.
    """
    of_windows = _branches_by_windows_major(tables).get(driver.major)
    if platform in WINDOWS_DRIVERS:
        return of_windows
    return driver.major if of_windows is None or driver.major in _branches(tables) else of_windows


@kept
def _branches_by_windows_major(tables: Tables) -> dict[int, int]:
    """The oldest branch whose drivers have a first number on Windows, by that number."""
    return {major: row.branch for row in reversed(tables.driver_branches) for major in row.windows_majors}


@kept
def _branches(tables: Tables) -> dict[int, DriverBranch]:
    """The rows of the branches by their numbers."""
    return {row.branch: row for row in tables.driver_branches}


def branch_of(driver: Version, tables: Tables, platform: str = "linux") -> DriverBranch | None:
    """The row of the driver's branch (384 of 384.81), or None when it is not in the table."""
    number = branch_number(driver, tables, platform)
    return None if number is None else _branches(tables).get(number)


def reported_cuda(driver: Version, tables: Tables, platform: str = "linux") -> Version | None:
    """The CUDA version that a driver reports; None where its branch is not in the table."""
    branch = branch_of(driver, tables, platform)
    return branch.driver_cuda_version if branch is not None else None


def driver_runs_cuda(
    driver: Version, cuda: Version, tables: Tables, *, data_center: bool = False, platform: str = "linux"
) -> Verdict:
    """The verdict on one driver and one CUDA version or release line, in `DriverVerdict`'s words."""
    floors = driver_floors(cuda, tables, platform)
    data_center = data_center and platform not in WINDOWS_DRIVERS
    compat = compat_branches(toolkits_of(cuda.line, tables)) if data_center else None
    level = driver_level(driver, floors, branch_of(driver, tables, platform), data_center, compat)
    sources = sources_of(toolkits_of(cuda, tables))
    return Verdict("driver-runs-cuda", level.value, _driver_detail(driver, floors, level, data_center), sources)


def _driver_detail(driver: Version, floors: DriverFloors, level: DriverVerdict, data_center: bool) -> str:
    cuda, native, minor = floors.cuda, floors.native, floors.minor_version
    if level is DriverVerdict.NATIVE:
        older = f"; CUDA {cuda} also runs on {minor} or newer with minor-version compatibility" if minor else ""
        return f"driver {driver} supports CUDA {cuda} natively (native support needs {native} or newer{older})"
    if level is DriverVerdict.MINOR_VERSION:
        return (
            f"driver {driver} is older than {native}, the driver released with CUDA {cuda}, but minor-version "
            f"compatibility covers every CUDA {cuda.major}.x release on driver {minor} or newer. This does not "
            "apply to PTX that the driver has to compile: such code fails with error 222 (unsupported PTX version)"
        )
    if level is DriverVerdict.FORWARD:
        return (
            f"driver {driver} is older than the {minor or native} that CUDA {cuda} needs; on data center GPUs, "
            f"installing cuda-compat-{cuda.major}-{cuda.minor} provides forward compatibility"
        )
    if level is DriverVerdict.UNKNOWN:
        known = f"CUDA {cuda} needs {native}, and" if native else f"the minimum driver for CUDA {cuda} is not known;"
        tail = "it is not known whether cuda-compat covers this branch" if native else "it may or may not run"
        return f"driver {driver}: {known} {tail}"
    compat = "; cuda-compat does not support this branch" if data_center else ""
    return f"driver {driver} is too old for CUDA {cuda}: it needs {floors.lowest} or newer{compat}"
