"""The driver: which CUDA it runs and by which of NVIDIA's rules, and which GPUs its branch still knows."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.matrix.rows import DriverBranch, Toolkit
from envkit.plan.model import DriverVerdict, Verdict
from envkit.plan.relations.cuda_line import cited, toolkits_of
from envkit.plan.tables import Tables
from envkit.records import record
from envkit.versions import ComputeCapability, Version

WINDOWS_DRIVERS = ("windows", "wsl")  # platforms whose driver is the Windows one
SUPPORTED_KINDS = ("lts", "production")  # branches that NVIDIA builds cuda-compat for


@record
class DriverFloors:
    """The lowest drivers for one CUDA version: `native`, and `minor_version` for NVIDIA's rule from CUDA 11 on."""

    cuda: Version
    native: Version | None
    minor_version: Version | None


def driver_floors(cuda: Version, tables: Tables, platform: str = "linux") -> DriverFloors:
    """The driver floors of a CUDA version or release line; of a line the lowest of its releases.

    Where the release notes' floor is not recorded, the first branch that reports this CUDA stands in for it.
    """
    return floors_of(cuda, toolkits_of(cuda, tables), tables, platform)


def floors_of(cuda: Version, rows: Sequence[Toolkit], tables: Tables, platform: str) -> DriverFloors:
    """`driver_floors` for a CUDA whose toolkits are at hand."""
    windows = platform in WINDOWS_DRIVERS
    natives = [row.minimum_windows_driver if windows else row.minimum_driver for row in rows]
    minors = [row.minor_compatibility_driver for row in rows]
    native = min((floor for floor in natives if floor), default=None)
    minor = min((floor for floor in minors if floor), default=None)
    if windows and minor is not None:
        line = (row.minimum_windows_driver for row in tables.toolkits if row.version.major == cuda.major)
        minor = min((floor for floor in line if floor), default=None)
    return DriverFloors(cuda, native or first_branch_floor(cuda, tables), minor)


def first_branch_floor(cuda: Version, tables: Tables) -> Version | None:
    """The first driver whose branch reports this CUDA or a later one; None when no branch is known to."""
    release = cuda.release(2)
    for branch in tables.driver_branches:
        if branch.driver_cuda_version is not None and branch.driver_cuda_version >= release:
            return Version.of(branch.branch)
    return None


def driver_level(
    driver: Version, floors: DriverFloors, branch: DriverBranch | None = None, data_center: bool = False
) -> DriverVerdict:
    """How this driver runs the CUDA version of `floors`.

    `data_center`: every GPU is a data-centre model, the only ones that `cuda-compat` works on.
    """
    if floors.native is None:
        return DriverVerdict.UNKNOWN
    if driver >= floors.native:
        return DriverVerdict.NATIVE
    if floors.minor_version is not None and driver >= floors.minor_version:
        return DriverVerdict.MINOR_VERSION
    if not data_center:
        return DriverVerdict.INCOMPATIBLE
    if floors.minor_version is None or branch is None or not branch.kind:
        return DriverVerdict.UNKNOWN
    return DriverVerdict.FORWARD if _compat_is_made_for(branch, floors.cuda) else DriverVerdict.INCOMPATIBLE


def _compat_is_made_for(branch: DriverBranch, cuda: Version) -> bool:
    """Whether NVIDIA makes cuda-compat of this CUDA for the branch: a supported kind, at most one CUDA major older.

    Source: NVIDIA CUDA Compatibility, table of forward compatibility by driver branch.
    """
    reported = branch.driver_cuda_version
    near = reported is not None and cuda.major - reported.major <= 1
    return near and branch.kind.lower().startswith(SUPPORTED_KINDS)


def branch_of(driver: Version, tables: Tables) -> DriverBranch | None:
    """The row of the driver's branch (384 of 384.81), or None when it is not in the table."""
    return next((row for row in tables.driver_branches if row.branch == driver.major), None)


def driver_runs_cuda(
    driver: Version, cuda: Version, tables: Tables, *, data_center: bool = False, platform: str = "linux"
) -> Verdict:
    """The verdict on one driver and one CUDA version or release line, in `DriverVerdict`'s words."""
    floors = driver_floors(cuda, tables, platform)
    level = driver_level(driver, floors, branch_of(driver, tables), data_center)
    source = cited(toolkits_of(cuda, tables), tables)
    return Verdict("driver-runs-cuda", level.value, _driver_detail(driver, floors, level, data_center), source)


def _driver_detail(driver: Version, floors: DriverFloors, level: DriverVerdict, data_center: bool) -> str:
    cuda, native, minor = floors.cuda, floors.native, floors.minor_version
    if level is DriverVerdict.NATIVE:
        return f"driver {driver} runs CUDA {cuda} natively (it needs {native})"
    if level is DriverVerdict.MINOR_VERSION:
        return (
            f"driver {driver} is older than CUDA {cuda}'s own {native}, but minor-version compatibility covers every "
            f"CUDA {cuda.major}.x from driver {minor} on; PTX is not covered: code that must be compiled at run "
            "time fails (error 222)"
        )
    if level is DriverVerdict.FORWARD:
        return (
            f"driver {driver} is older than the {minor} that CUDA {cuda} needs; on data-centre GPUs the package "
            f"cuda-compat-{cuda.major}-{cuda.minor} makes up for it (forward compatibility)"
        )
    if level is DriverVerdict.UNKNOWN:
        known = f"CUDA {cuda} needs {native}, and" if native else f"no driver floor is recorded for CUDA {cuda};"
        tail = "whether cuda-compat covers this branch is not recorded" if native else "it may run or not"
        return f"driver {driver}: {known} {tail}"
    lowest = min(floor for floor in (native, minor) if floor)
    compat = "; cuda-compat is not made for this branch" if data_center else ""
    return f"driver {driver} is too old for CUDA {cuda}: it needs {lowest} or newer{compat}"


def family_of(compute_capability: ComputeCapability, tables: Tables) -> str | None:
    """The GPU family of a compute capability (Turing for 7.5), or None when no listed GPU has it."""
    wanted = (compute_capability.major, compute_capability.minor)
    for gpu in tables.gpus:
        if (gpu.compute_capability.major, gpu.compute_capability.minor) == wanted:
            return gpu.family
    return None


def gpu_on_driver(
    compute_capability: ComputeCapability,
    driver: Version,
    tables: Tables,
    *,
    name: str = "",
    last_driver_branch: int | None = None,
) -> Verdict:
    """Whether the driver's branch knows this GPU: not yet, still, or no longer."""
    label = name or f"sm_{compute_capability.major}{compute_capability.minor}"
    row = branch_of(driver, tables)
    source = tables.cite(row.sources) if row else ""
    if last_driver_branch is not None and driver.major > last_driver_branch:
        detail = f"{label} is no longer supported by driver {driver}: {last_driver_branch} is its last branch"
        return Verdict("gpu-on-driver", "fail", detail, source)
    family = family_of(compute_capability, tables)
    if row is None or row.families is None or family is None:
        what = f"the GPUs of driver branch {driver.major}" if family else f"the family of {label}"
        return Verdict("gpu-on-driver", "unknown", f"{what} are not recorded", source)
    if family in row.families:
        return Verdict("gpu-on-driver", "ok", f"driver branch {driver.major} supports {label} ({family})", source)
    branches = [branch.branch for branch in tables.driver_branches if family in (branch.families or ())]
    detail = f"driver branch {driver.major} does not support {label} ({family}); branches {_span(branches)} do"
    return Verdict("gpu-on-driver", "fail", detail, source)


def _span(branches: list[int]) -> str:
    return f"{branches[0]} to {branches[-1]}" if branches else "that are not recorded"


def first_driver_for_gpu(compute_capability: ComputeCapability, tables: Tables) -> Version | None:
    """The first driver of the first branch that lists this GPU's family; None when none is recorded."""
    family = family_of(compute_capability, tables)
    for branch in tables.driver_branches:
        if family is not None and family in (branch.families or ()):
            return branch.first_version or Version.of(branch.branch)
    return None


def last_branch_of(compute_capability: ComputeCapability, tables: Tables) -> int | None:
    """The last driver branch that lists this GPU's family; None while the newest listing branch still does."""
    family = family_of(compute_capability, tables)
    listing = [branch for branch in tables.driver_branches if branch.families is not None]
    supporting = [branch.branch for branch in listing if family in (branch.families or ())]
    if not supporting or supporting[-1] == listing[-1].branch:
        return None
    return supporting[-1]


def last_driver_runs_cuda(
    last_branch: int, cuda: Version, tables: Tables, *, name: str, platform: str = "linux"
) -> Verdict:
    """Whether the newest driver that a GPU can ever have runs a CUDA version."""
    floors = driver_floors(cuda, tables, platform)
    source = cited(toolkits_of(cuda, tables), tables)
    lowest = min((floor for floor in (floors.native, floors.minor_version) if floor), default=None)
    if lowest is None:
        detail = f"no driver floor is recorded for CUDA {cuda}"
        return Verdict("gpu-last-driver", "unknown", detail, source)
    if lowest.major <= last_branch:
        detail = f"driver {last_branch}, the last for {name}, is new enough for CUDA {cuda} ({lowest})"
        return Verdict("gpu-last-driver", "ok", detail, source)
    detail = f"CUDA {cuda} needs driver {lowest}, and {last_branch} is the last driver branch for {name}"
    return Verdict("gpu-last-driver", "fail", detail, source)


FIRST_OPEN_FAMILY = "Turing"  # the first with the GSP that NVIDIA's open kernel module needs
OPEN_ONLY_FAMILY = "Blackwell"  # the first that the proprietary module does not drive


def gpu_on_kernel_module(
    compute_capability: ComputeCapability, open_module: bool, tables: Tables, *, name: str = ""
) -> Verdict:
    """Whether this kind of NVIDIA kernel module drives this GPU: open from Turing on, and alone from Blackwell on."""
    label = name or f"sm_{compute_capability.major}{compute_capability.minor}"
    firsts = {}
    for family in (FIRST_OPEN_FAMILY, OPEN_ONLY_FAMILY):
        members = [gpu for gpu in tables.gpus if gpu.family == family]
        firsts[family] = min((gpu.compute_capability for gpu in members), default=None)
    first_open, open_only = firsts[FIRST_OPEN_FAMILY], firsts[OPEN_ONLY_FAMILY]
    source = tables.cite(tables.driver_branches[-1].sources) if tables.driver_branches else ""
    if first_open is None or open_only is None:
        return Verdict("gpu-on-kernel-module", "unknown", "the GPU families are not recorded", source)
    plain = ComputeCapability(compute_capability.major, compute_capability.minor)
    if open_module and plain < first_open:
        detail = f"{label} is older than {FIRST_OPEN_FAMILY}: NVIDIA's open kernel module does not drive it"
        return Verdict("gpu-on-kernel-module", "fail", f"{detail}; install the proprietary module", source)
    if not open_module and plain >= open_only:
        detail = f"{label} is {OPEN_ONLY_FAMILY} or newer: only NVIDIA's open kernel module drives it"
        return Verdict("gpu-on-kernel-module", "fail", detail, source)
    kind = "open" if open_module else "proprietary"
    return Verdict("gpu-on-kernel-module", "ok", f"NVIDIA's {kind} kernel module drives {label}", source)
