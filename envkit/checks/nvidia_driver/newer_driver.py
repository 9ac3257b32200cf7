"""The driver branch that runs a CUDA release on these GPUs, and the commands that install it on this system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import APPLIANCES, QUEUES, managed_by, managers
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.gpu.module_flavors import needs_open
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import DriverBranch

_OWN_BRANCH = ("dgx", "synology")  # systems for which no other branch than their maker's can be installed
_PER_BRANCH = "nvidia-driver-"  # how the packages are called where each branch has its own
_LONG, _KEPT = ("lts",), ("lts", "production")  # branches with the longest support; those that distributions package


def branch_for(environment: Environment, matrix: Matrix, cuda: Version | None) -> DriverBranch | None:
    """The first branch that distributions package, reports this CUDA and drives every GPU that was seen.

    Without a CUDA the newest one of long support: of newer ones some no longer drive an old GPU that nobody named.
    None where no branch does, or only one that is installed already.
    """
    families = {model.family for gpu in seen_gpus(environment, matrix) for model in gpu.models}
    own = installed(environment) if driver_platform(environment) == "linux" else None
    fitting = [
        row
        for row in matrix.driver_branches
        if row.kind in (_LONG if cuda is None else _KEPT)
        and row.driver_cuda_version is not None
        and families <= {*(row.families or ())}
        and (cuda is None or row.driver_cuda_version >= cuda.release(2))
        and (own is None or row.branch > own.major)
    ]
    if not fitting:
        return None
    return fitting[-1] if cuda is None else fitting[0]


def newest_kept(environment: Environment, matrix: Matrix) -> int:
    """The newest branch with long support that drives every GPU that was seen."""
    families = {model.family for gpu in seen_gpus(environment, matrix) for model in gpu.models}
    return max(
        row.branch for row in matrix.driver_branches if row.kind in _LONG and families <= {*(row.families or ())}
    )


def _packaged(
    environment: Environment, matrix: Matrix, branch: DriverBranch, cuda: Version | None, *, exact: bool
) -> DriverBranch | None:
    """The branch that the system's own archive has in place of `branch`, None where it has none that will do.

    An archive gets no new branches after the end of its support. From CUDA 11 on, a driver of a major line's first
    release runs the programs of the whole line, if they are not `exact`.
    """
    end = _end_of_archive(environment, matrix)
    if not end or _released(matrix, branch) <= end:
        return branch
    own = installed(environment)
    families = {model.family for gpu in seen_gpus(environment, matrix) for model in gpu.models}
    rows = [
        row
        for row in matrix.driver_branches
        if row.kind in _KEPT
        and row.driver_cuda_version is not None
        and families <= {*(row.families or ())}
        and (own is None or row.branch > own.major)
        and _released(matrix, row) <= end
        and (cuda is None or _runs(row.driver_cuda_version, cuda, exact=exact))
    ]
    return rows[-1] if rows else None


def _runs(own: Version, cuda: Version, *, exact: bool) -> bool:
    by_major = not exact and cuda >= limit("one-soname-per-major") and own.major == cuda.major
    return by_major or own >= cuda.release(2)


def _end_of_archive(environment: Environment, matrix: Matrix) -> str:
    """Until when an Ubuntu's archive got driver branches, as a year and a month; '' for other systems."""
    if not environment.system.os.known or environment.system.os.get().id != "ubuntu":
        return ""
    row = matrix.operating_system(environment.system.os.get().os_id)
    return (row.end_of_support or "")[:7] if row is not None else ""


def _released(matrix: Matrix, branch: DriverBranch) -> str:
    """The month of the first toolkit of a branch's CUDA, which comes with it; a late one where that is not known."""
    cuda = branch.driver_cuda_version
    lines = [row for row in matrix.toolkits if cuda is not None and row.version.release(2) == cuda.release(2)]
    return min((row.release_date for row in lines if row.release_date), default="9999")


def newer_driver(
    environment: Environment, matrix: Matrix, cuda: Version | None, otherwise: str, *, exact: bool = False
) -> Remedy:
    """The remedy that installs it; `otherwise` says what serves who has to keep the driver.

    `exact`: only a driver of that CUDA itself will do, as for PTX.
    """
    branch = branch_for(environment, matrix, cuda)
    own_archive = _packaged(environment, matrix, branch, cuda, exact=exact) if branch is not None else None
    if branch is not None and own_archive is None and _end_of_archive(environment, matrix):
        name = environment.system.os.get().pretty_name or environment.system.os.get().os_id
        return Remedy(
            f"The archive of {name} has no driver that runs {f'CUDA {cuda.release(2)}' if cuda else 'it'}: a newer "
            f"system is needed for that. {otherwise}"
        )
    branch = own_archive if own_archive is not None else branch
    if branch is None:
        words = f"No driver for these GPUs runs CUDA {cuda.release(2)}." if cuda else "Update the driver."
        return Remedy(f"{words} {otherwise}")
    runs = f"which supports CUDA {branch.driver_cuda_version}"
    if not any(gpu.models for gpu in seen_gpus(environment, matrix)):
        otherwise = f"First check that it still supports your GPU (envkit matrix gpus). {otherwise}"
    if driver_platform(environment) != "linux":
        number = branch.windows_majors[0] if branch.windows_majors else branch.branch
        return Remedy(
            f"Install NVIDIA's driver {number} or newer, {runs}, on Windows from nvidia.com/drivers, then restart it; "
            f"WSL and containers use that driver. {otherwise}"
        )
    if managed_by(environment, "modules", "no-root", *QUEUES):
        return Remedy(
            f"{otherwise} Only the cluster's administrators can install a newer driver "
            f"(branch {branch.branch}, {runs})."
        )
    name = next((name for name in _OWN_BRANCH if name in managers(environment)), "")
    if name:
        return Remedy(f"{otherwise} {APPLIANCES[name]}")
    if old := _without_branches(environment, matrix):
        wanted = f" and check that nvidia-smi then shows CUDA {cuda.release(2)} or newer" if cuda else ""
        return remedy(
            environment,
            f"{old} has no package of driver branch {branch.branch}: install the newest driver in its archive{wanted}. "
            f"If that is too old, a newer system is needed. {otherwise}",
            "driver-of-archive",
        )
    return remedy(
        environment,
        f"Install driver branch {branch.branch}, {runs}. {otherwise}",
        "driver-open" if needs_open(environment, matrix) else "driver-newer",
        branch=branch.branch,
    )


def _without_branches(environment: Environment, matrix: Matrix) -> str:
    """What an Ubuntu is called whose archive has no package for each branch; '' for every other system."""
    if not environment.system.os.known or environment.system.os.get().id != "ubuntu":
        return ""
    release = environment.system.os.get()
    row = matrix.operating_system(release.os_id)
    packaged = row is None or not row.driver_packages or _PER_BRANCH in row.driver_packages
    return "" if packaged else release.pretty_name or release.os_id


def newer_or_kept(environment: Environment, matrix: Matrix) -> str:
    """What to do about a driver that is too old; a GPU whose last branch it is gets no newer one."""
    driver = installed(environment)
    lasts = {model.last_driver_branch for gpu in seen_gpus(environment, matrix) for model in gpu.models}
    last = min((branch for branch in lasts if branch is not None), default=None)
    if last is not None and driver is not None and driver.major >= last and driver_platform(environment) == "linux":
        return f"Keep this driver: {last} is the last branch that supports this GPU."
    if managed_by(environment, "gke"):
        return (
            "GKE installs the driver on its nodes: create a node pool with --accelerator "
            "type=TYPE,count=1,gpu-driver-version=latest, and move the pods there. Or keep this driver, with these "
            "commands as RUN lines of the image's Dockerfile:"
        )
    return "Install a newer driver branch, or keep this driver:"
