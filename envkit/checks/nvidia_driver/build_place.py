"""Builds that fail before the driver's own sources matter: leftovers in DKMS' tree, headers of two releases."""

from __future__ import annotations

from envkit.checks.engine.command import PATH, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy, steps
from envkit.model import Environment

_ID = "dkms-build-failed"


def by_place(environment: Environment) -> Remedy | None:
    """The remedy where what DKMS builds with is broken; None where it is not, or nothing tells."""
    return _stale_tree(environment) or _mixed_headers(environment)


def _stale_tree(environment: Environment) -> Remedy | None:
    """The remedy where a folder of a release that was removed stops every command of DKMS."""
    left = seen(environment, _ID, "detail-stale-tree")
    folder = named(left, "folder")
    if folder is None:
        return None
    return Remedy(
        f"DKMS stops at {folder}, which is left over from a release of the driver that is no longer installed, so it "
        "builds nothing for new kernels. Remove that folder (it only has old build files), and repeat this for each "
        "other folder that dkms status then complains about. Then build the installed release for the running kernel; "
        "later kernels get their module by themselves again.",
        (
            run("sudo", "rm", "-r", PATH(folder)),
            fixed("dkms status"),
            *steps(environment, "build-module"),
        ),
    )


def _mixed_headers(environment: Environment) -> Remedy | None:
    """The remedy where a header of the kernel itself is missing in its own headers."""
    missing = named(seen(environment, _ID, "detail-kernel-header"), "header")
    if missing is None:
        return None
    return remedy(
        environment,
        f"{missing} is a file of the kernel's own build tree, so the driver is not at fault, and no module of any kind "
        "builds: linux-headers and linux-kbuild are from two releases of the kernel. Upgrade the kernel, its headers, "
        "and linux-kbuild together, and reboot into the new kernel once the fourth command lists the same version "
        "for all of them. If the archive has no matching versions yet, keep booting the previous kernel.",
        "kernel-together",
    )
