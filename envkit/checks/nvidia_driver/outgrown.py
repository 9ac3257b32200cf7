"""A driver that is older than the kernel it is built for: the release that fits, and the kernel that it still fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import families
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.checks.nvidia_driver.foreign_module import build_log
from envkit.checks.nvidia_driver.own_packages import from_packages
from envkit.model import Environment
from envkit.tables.drivers import DriverKernel
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LASTING = ("lts", "production")  # kinds of branches that distributions package
_RELEASE = regex(r"\d{1,2}\.\d{1,2}(?:\.\d{1,3})?")
_ID = "dkms-build-failed"
_FINE = ("detail-kernel-fine", "detail-kernel-before", "detail-not-with", "detail-lts-fine")


def failing_release(environment: Environment) -> Version | None:
    """The release of the driver that DKMS, its log, or the text names as the one that does not build."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    own = [Version.find(entry.version) for entry in entries if entry.module.startswith("nvidia")]
    texts = (
        named(seen(environment, _ID, "detail-log"), "log"),
        named(seen(environment, _ID, "dkms", "detail-interface", "detail-runfile"), "version"),
        named(seen(environment, _ID, "detail-driver", "detail-driver-of", "detail-package-version"), "driver"),
    )
    told = [Version.find(text.rpartition("/build/")[0].rpartition("/")[2] or text) for text in texts if text]
    found = [version for version in (*own, *told) if version is not None]
    return max(found, default=installed(environment))


def failing_kernel(environment: Environment) -> str:
    """The kernel that the module is not built for, as the messages or the text name it; '' where none does."""
    told = (
        named(seen(environment, _ID), "kernel"),
        named(seen(environment, "module-missing-for-running-kernel"), "kernel"),
        named(seen(environment, _ID, "detail-for-kernel", "detail-built-for"), "kernel"),
    )
    return next(
        (
            kernel.rstrip(".")
            for kernel in (*told, environment.system.kernel.value)
            if kernel and _RELEASE.match(kernel)
        ),
        "",
    )


def fitting_kernel(environment: Environment) -> str:
    """The kernel for which the driver was built, as the text or DKMS tells; '' where none does."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    built = [entry.kernel for entry in entries if entry.module.startswith("nvidia") and entry.state == "installed"]
    told = named(seen(environment, _ID, *_FINE), "before")
    bad = failing_kernel(environment)
    return next((kernel for kernel in (told, *reversed(built)) if kernel and kernel != bad), "")


def outgrown(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where the table knows a newer release for the kernel; None where it does not, or names are missing."""
    driver, kernel = failing_release(environment), failing_kernel(environment)
    release = _release_of(kernel)
    if driver is None or release is None or seen(environment, _ID, "detail-mainline"):
        return None
    if _built_elsewhere(environment, release):
        return None
    ended = is_legacy(driver.major, matrix) or bool(last_for(driver.major, matrix))
    rows = [row for row in _for_gpus(environment, matrix) if row.driver > driver and row.kernel >= release.line]
    own = [row for row in rows if row.driver.major == driver.major]
    row = next(iter(own if ended else rows), None)  # where a branch ended with its GPUs, there may be no newer one
    if row is None:
        return None
    lasting = (each.branch for each in matrix.driver_branches if _packaged(each.kind, each.branch, row))
    branch = driver.major if ended else min(lasting, default=0)
    lost = "" if seen_gpus(environment, matrix) else series(_lost(driver.major, row.driver.major, matrix))
    but = (
        f" {row.driver.major} no longer supports {lost} GPUs: with one of these, stay with the older kernel."
        if lost
        else ""
    )
    how, given = from_packages(environment, matrix, branch, kernel, ended=ended)
    shown = seen(environment, _ID, "conftest", "detail-interface", "source-tree", "gpl-symbol")
    needless = "; its sources do not fit it, so another compiler or a second try does not help" if shown else ""
    log = () if shown else build_log(environment)
    return Remedy(
        f"Driver {driver} does not build for kernel {kernel}{needless}. To keep the new kernel, install "
        f"{row.driver} or newer, which is built for kernels up to {row.kernel}.{but}{how} Afterward, dkms status must "
        f"report 'installed' for the new kernel. {back_to_kernel(environment)}",
        (*(() if given else log), *given, fixed("dkms status")),
    )


def back_to_kernel(environment: Environment) -> str:
    """The way that needs no other driver: the kernel that worked, by its name where the text tells it."""
    which = fitting_kernel(environment)
    if not which and "arch" in families(environment):
        return (
            "Pacman has removed the previous kernel. If its package and its headers are still in "
            "/var/cache/pacman/pkg, sudo pacman -U with their paths brings it back."
        )
    of_name = f"kernel {which}, for which it was built" if which else "the previous kernel, for which it was built"
    return f"Until then, boot {of_name} (boot menu, Advanced options)."


def last_kernel(branch: int) -> Version | None:
    """The newest kernel for which the last release of this branch is built, as far as the table knows it."""
    return max((row.kernel for row in read(DriverKernel) if row.driver.major == branch), default=None)


def _release_of(kernel: str) -> Version | None:
    match = _RELEASE.match(kernel)
    return Version.find(match.group()) if match else None


def _built_elsewhere(environment: Environment, release: Version) -> bool:
    """Whether the same driver was built for another kernel of the same release: this one's own build is the cause."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    kernels = [_release_of(entry.kernel) for entry in entries if entry.state == "installed"]
    return any(kernel is not None and kernel.line == release.line for kernel in kernels)


def own_kernel(environment: Environment) -> str:
    """Advice where the driver was built for another kernel of this release; '' elsewhere."""
    release = _release_of(failing_kernel(environment))
    if release is None or not _built_elsewhere(environment, release):
        return ""
    return (
        f"The same driver was built for {fitting_kernel(environment)}, a kernel of the same release, so the driver is "
        f"not too old for it: boot that one. In the kernel that fails, something is missing or left over from an "
        "earlier build. If you build it yourself, remove old objects (make mrproper, and ccache -C if you use ccache), "
        "switch on the option that has the symbol which the log misses, build and install kernel and headers again, "
        "and then the module."
    )


def _packaged(kind: str, branch: int, row: DriverKernel) -> bool:
    return kind in _LASTING and branch >= row.driver.major


def is_legacy(branch: int, matrix: Matrix) -> bool:
    """Whether NVIDIA ended this branch as the last one for its GPUs, before those whose GPUs are recorded."""
    return branch <= max((row.branch for row in matrix.driver_branches if row.kind == "legacy"), default=0)


def last_for(branch: int, matrix: Matrix) -> list[str]:
    """The GPU families that this branch supports and no newer one does."""
    own = {family for row in matrix.driver_branches if row.branch == branch for family in row.families or ()}
    later = {family for row in matrix.driver_branches if row.branch > branch for family in row.families or ()}
    return sorted(own - later)


def _lost(old: int, new: int, matrix: Matrix) -> list[str]:
    """The GPU families that the newer branch no longer supports."""
    families_of = {row.branch: frozenset(row.families or ()) for row in matrix.driver_branches}
    return sorted(families_of.get(old, frozenset()) - families_of.get(new, frozenset()))


def _for_gpus(environment: Environment, matrix: Matrix) -> list[DriverKernel]:
    """The rows of the branches that support every GPU which the text shows."""
    shown = [{model.family for model in gpu.models} for gpu in seen_gpus(environment, matrix)]
    families_of = {row.branch: frozenset(row.families or ()) for row in matrix.driver_branches}
    return [row for row in read(DriverKernel) if all(own & families_of[row.driver.major] for own in shown)]
