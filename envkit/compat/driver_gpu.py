"""The driver and the GPU: from which driver on a GPU is known, up to which branch, and by which kernel module."""

from __future__ import annotations

from envkit.base.kept import kept
from envkit.base.platforms import WINDOWS_DRIVERS
from envkit.base.versions import ComputeCapability, Version, called
from envkit.compat.cuda_line import sources_of, toolkits_of
from envkit.compat.driver import DriverFloors, branch_number, branch_of, driver_floors
from envkit.compat.gpu import ToolkitMatch, toolkit_match
from envkit.compat.tables import Tables
from envkit.compat.verdict import Verdict
from envkit.tables.rows import DriverBranch


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
    first_driver: Version | None = None,
    platform: str = "linux",
) -> Verdict:
    """Whether the driver knows this GPU: not yet, still, or no longer."""
    label = called(name, compute_capability)
    number, row = branch_number(driver, tables, platform), branch_of(driver, tables, platform)
    sources = row.sources if row else ()
    if number is None:
        detail = f"the branch of Windows driver {driver} is not known"
        return Verdict("gpu-on-driver", "unknown", detail, sources)
    if last_driver_branch is not None and number > last_driver_branch:
        detail = f"{label} is no longer supported by driver {driver}: {last_driver_branch} is its last branch"
        return Verdict("gpu-on-driver", "fail", detail, sources)
    if first_driver is not None and _is_before(driver, number, first_driver, platform):
        detail = f"driver {driver} does not support {label} yet: it needs {first_driver} or newer"
        return Verdict("gpu-on-driver", "fail", detail, _sources_of_gpu(compute_capability, first_driver, tables))
    first = _first_cuda_above(compute_capability, row, tables)
    if first is not None and row is not None:
        detail = (
            f"driver branch {number} does not support {label}; the branch supports CUDA up to "
            f"{row.driver_cuda_version}, but this GPU needs CUDA {first} or newer"
        )
        keys = (*row.sources, *(key for toolkit in toolkits_of(first, tables)[:1] for key in toolkit.sources))
        return Verdict("gpu-on-driver", "fail", detail, tuple(dict.fromkeys(keys)))
    status, detail = _by_family(family_of(compute_capability, tables), label, number, tables)
    return Verdict("gpu-on-driver", status, detail, sources)


def _is_before(driver: Version, branch: int, first: Version, platform: str) -> bool:
    """Whether a driver is older than the Linux driver `first`; one for Windows is known by its branch alone."""
    return branch < first.major if platform in WINDOWS_DRIVERS else driver < first


def _sources_of_gpu(compute_capability: ComputeCapability, first_driver: Version, tables: Tables) -> tuple[str, ...]:
    """The sources of the models of which no older driver than this knows any."""
    rows = (row for row in tables.gpus if row.first_driver == first_driver)
    keys = (key for row in rows if row.compute_capability == compute_capability for key in row.sources)
    return tuple(dict.fromkeys(keys))


def _first_cuda_above(
    compute_capability: ComputeCapability, branch: DriverBranch | None, tables: Tables
) -> Version | None:
    """The first CUDA that compiles for a GPU, where that is newer than the one that the driver branch reports."""
    reported = branch.driver_cuda_version if branch else None
    if reported is None:
        return None
    first = _first_cuda(tables, compute_capability)
    return first if first is not None and reported.release(2) < first else None


@kept
def _first_cuda(tables: Tables, compute_capability: ComputeCapability) -> Version | None:
    """The first CUDA release that compiles for a GPU; None where none is recorded."""
    targeting = (row for row in tables.toolkits if toolkit_match(compute_capability, row) is ToolkitMatch.TARGET)
    return next((row.release for row in targeting), None)


def _by_family(family: str | None, label: str, number: int, tables: Tables) -> tuple[str, str]:
    """Whether a branch supports a family, and why: where it lists none, the branches before and after it decide."""
    listing = [row for row in tables.driver_branches if row.families is not None]
    supporting = [row.branch for row in listing if family in (row.families or ())]
    if family is None or not supporting:
        return "unknown", f"the family of {label} is not known"
    own = next((row for row in listing if row.branch == number), None)
    article = "an" if family[:1] in "AEIOU" else "a"
    supported = f"driver branch {number} supports {label}, {article} {family} GPU"
    refused = (
        f"driver branch {number} does not support {label}, {article} {family} GPU; branches {_span(supporting)} do"
    )
    if own is not None:
        return ("ok", supported) if number in supporting else ("fail", refused)
    first, last = supporting[0], supporting[-1]
    if first < number < last:
        return "ok", supported
    edge = listing[0].branch if number < first else listing[-1].branch
    if edge in (first, last):
        return "unknown", f"it is not known which GPUs driver branch {number} supports"
    return "fail", refused


def _span(branches: list[int]) -> str:
    return f"{branches[0]} to {branches[-1]}"


def first_driver_for_gpu(
    compute_capability: ComputeCapability, tables: Tables, first_driver: Version | None = None
) -> Version | None:
    """The first Linux driver of the first branch that knows this GPU; None when none is recorded.

    `first_driver`: no older one knows this model.
    """
    family = family_of(compute_capability, tables)
    for branch in tables.driver_branches:
        if family is None or family not in (branch.families or ()):
            continue
        if _first_cuda_above(compute_capability, branch, tables) is None:
            found = branch.first_version or Version.of(branch.branch)
            return max(found, first_driver) if first_driver else found
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
    sources = sources_of(toolkits_of(cuda, tables))
    runs = last_branch_reaches(last_branch, floors, tables, platform)
    if runs is None:
        detail = f"the minimum driver is not known for CUDA {cuda}"
        return Verdict("gpu-last-driver", "unknown", detail, sources)
    if runs:
        detail = f"driver branch {last_branch}, the last one that supports the {name}, is new enough for CUDA {cuda}"
        return Verdict("gpu-last-driver", "ok", detail, sources)
    detail = f"CUDA {cuda} needs driver {floors.lowest}, but R{last_branch} is the last driver branch for {name}"
    return Verdict("gpu-last-driver", "fail", detail, sources)


def last_branch_reaches(last_branch: int, floors: DriverFloors, tables: Tables, platform: str) -> bool | None:
    """Whether a GPU's last driver branch is new enough for a CUDA; None where no floor of that is recorded."""
    return None if floors.lowest is None else not is_after(floors.lowest, last_branch, tables, platform)


def is_after(driver: Version, last_branch: int, tables: Tables, platform: str) -> bool:
    """Whether a driver is of a later branch than `last_branch`; one whose branch is not recorded is not known to be."""
    number = branch_number(driver, tables, platform)
    return number is not None and number > last_branch


FIRST_OPEN_FAMILY = "Turing"  # the first with the GSP that NVIDIA's open kernel module needs
OPEN_ONLY_FAMILY = "Blackwell"  # the first that the proprietary module does not drive


def gpu_on_kernel_module(
    compute_capability: ComputeCapability, open_module: bool, tables: Tables, *, name: str = ""
) -> Verdict:
    """Whether this kind of NVIDIA kernel module drives this GPU: open from Turing on, and alone from Blackwell on."""
    label = called(name, compute_capability)
    firsts = {}
    for family in (FIRST_OPEN_FAMILY, OPEN_ONLY_FAMILY):
        members = [gpu for gpu in tables.gpus if gpu.family == family]
        firsts[family] = min((gpu.compute_capability for gpu in members), default=None)
    first_open, open_only = firsts[FIRST_OPEN_FAMILY], firsts[OPEN_ONLY_FAMILY]
    sources = tables.driver_branches[-1].sources if tables.driver_branches else ()
    if first_open is None or open_only is None:
        return Verdict("gpu-on-kernel-module", "unknown", "the GPU families are not known", sources)
    plain = ComputeCapability(compute_capability.major, compute_capability.minor)
    if open_module and plain < first_open:
        detail = f"{label} is older than {FIRST_OPEN_FAMILY}: NVIDIA's open kernel module does not support it"
        return Verdict("gpu-on-kernel-module", "fail", f"{detail}; install the proprietary module", sources)
    if not open_module and plain >= open_only:
        detail = f"{label} is {OPEN_ONLY_FAMILY} or newer: only NVIDIA's open kernel module supports it"
        return Verdict("gpu-on-kernel-module", "fail", detail, sources)
    kind = "open" if open_module else "proprietary"
    return Verdict("gpu-on-kernel-module", "ok", f"NVIDIA's {kind} kernel module supports {label}", sources)
