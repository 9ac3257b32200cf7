"""What DKMS builds of the driver, and which branch is worth another try where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.gpu.gpus import seen_gpus
from envkit.model import DkmsEntry, Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def dkms_entries(environment: Environment) -> list[DkmsEntry]:
    """The entries of NVIDIA's own modules."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    return [entry for entry in entries if entry.module.startswith("nvidia")]


def from_the_log(environment: Environment, matrix: Matrix) -> str:
    """What to try where nobody knows why the build fails: a newer branch only where the GPU may have one."""
    failing = max(
        (version.major for entry in dkms_entries(environment) if (version := Version.find(entry.version))), default=0
    )
    ended = _last_for(failing, matrix)
    if not ended:
        return (
            "Read the end of the build log; then try a newer driver branch, the previous kernel, or the compiler that "
            "the kernel was built with."
        )
    return (
        "Boot the previous kernel, for which the module was built, and keep it, or use a package of this driver that "
        f"is patched for newer kernels. {failing} is the last branch for {' and '.join(ended)} GPUs: no newer driver "
        "supports them. If the GPU is newer than that, install a newer branch instead."
    )


def _last_for(branch: int, matrix: Matrix) -> list[str]:
    """The GPU families that this branch supports and no newer one does."""
    own = {family for row in matrix.driver_branches if row.branch == branch for family in row.families or ()}
    later = {family for row in matrix.driver_branches if row.branch > branch for family in row.families or ()}
    return sorted(own - later)


def newer_branch(environment: Environment, matrix: Matrix) -> int | None:
    """The last branch with long support that has every GPU of the machine, where it is newer than what DKMS builds."""
    failing = [version.major for entry in dkms_entries(environment) if (version := Version.find(entry.version))]
    families = [{model.family for model in gpu.models} for gpu in seen_gpus(environment, matrix)]
    fitting = [
        row.branch
        for row in matrix.driver_branches
        if row.kind == "lts" and families and all(own & set(row.families or ()) for own in families)
    ]
    best = max(fitting, default=None)
    return best if best is not None and failing and max(failing) < best else None
