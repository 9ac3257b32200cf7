"""What DKMS builds of the driver, and which branch is worth another try where that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, fixed, run
from envkit.checks.engine.findings import Evidence, Remedy
from envkit.checks.engine.managers import appliance, managers
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.checks.nvidia_driver.outgrown import (
    back_to_kernel,
    failing_kernel,
    failing_release,
    is_legacy,
    last_for,
    own_kernel,
)
from envkit.model import DkmsEntry, Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def dkms_entries(environment: Environment) -> list[DkmsEntry]:
    """The entries of NVIDIA's own modules."""
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    return [entry for entry in entries if entry.module.startswith("nvidia")]


def kernels_with_module(environment: Environment) -> set[str] | None:
    """The kernels that have the module, None where files and DKMS or the running kernel are unknown."""
    if not environment.system.kernel.known:
        return None
    if environment.kernel.module_files.known:
        return {file.kernel for file in environment.kernel.module_files.get()}
    if environment.kernel.dkms.known:
        return {entry.kernel for entry in dkms_entries(environment) if entry.state == "installed"}
    return None


def from_the_log(environment: Environment, matrix: Matrix) -> str:
    """What to try where nobody knows why the build fails."""
    return own_kernel(environment) or _unknown_cause(environment, matrix)


def _unknown_cause(environment: Environment, matrix: Matrix) -> str:
    """The order of what is worth trying: it costs least to boot the kernel that worked."""
    kernel = failing_kernel(environment)
    if seen(environment, "dkms-build-failed", "detail-vgpu", "detail-vgpu-merged"):
        return (
            "A driver of NVIDIA's vGPU software builds only for the kernels of the systems in its release notes, "
            "and a merged or patched one for no other either. Install and boot such a kernel (an older one with long "
            "support; the newest of this distribution may be no better than the present), and run the installer again. "
            "Otherwise, use a newer vGPU release, or a patch that names this kernel. The log has the compiler's error."
        )
    return (
        f"Most often, the driver is older than the kernel{f' ({kernel})' if kernel else ''}: install its newest "
        f"release{_last_release(environment, matrix)}, and try the new kernel again: dkms status must report "
        f"'installed' for it. {back_to_kernel(environment)} Only if the log says that the compiler differs from the "
        "kernel's, install that compiler instead."
    )


def _last_release(environment: Environment, matrix: Matrix) -> str:
    """Which release that is, for who has to stay with the branch."""
    branch = matrix.driver_branch(_failing(environment))
    if branch is None or branch.last_version is None:
        return ""
    return f" (the last one of branch {branch.branch} is {branch.last_version})"


def _failing(environment: Environment) -> int:
    """The newest branch that DKMS, its log, or the text names, 0 where none does."""
    release = failing_release(environment)
    return release.major if release is not None else 0


def by_its_error(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where the text itself has what make.log would tell: the compiler's error, or DKMS' own words."""
    mainline = named(seen(environment, "dkms-build-failed", "detail-mainline"), "kernel")
    if mainline:
        return remedy(
            environment,
            f"{mainline} is a mainline kernel, which the distribution's driver packages are not made for. Install the "
            "distribution's own kernel, and choose it in the boot menu at the restart. There, complete the packages "
            "(sudo dpkg --configure -a), and remove the mainline kernel, so that it does not become the default again.",
            "own-kernel",
        )
    errors = seen(environment, "dkms-build-failed", "detail-interface")
    failing = _failing(environment)
    if not errors or (failing and (last_for(failing, matrix) or is_legacy(failing, matrix))):
        return None  # of a branch that ended with its GPUs there is no newer driver to install
    version = named(errors, "version")
    which = f"driver {version}" if version else "this driver"
    of_guests = " It is the driver of a vGPU host: newer ones come with newer releases of NVIDIA's vGPU software."
    return Remedy(
        f"The compiler's error shows that the sources of {which} do not match this kernel: kernel functions that they "
        "call have changed since, so a different compiler or a second try does not help. Boot an older kernel, from "
        "before the change, and keep it (the second command lists those that are installed; a fresh installation may "
        "have to install one), or install a newer release of the driver, or a patch for it that is made for this "
        f"kernel; one for a different kernel does not work.{of_guests if version and 'vgpu' in errors[0].text else ''}",
        (fixed("uname -r"), fixed("ls -l /lib/modules")),
    )


_MIRRORED = (
    " Your values take the driver's image from a registry of your own: copy that tag there first (its name ends in the "
    "node's system, such as -centos8 or -ubuntu22.04)."
)


def by_operator(environment: Environment, matrix: Matrix) -> Remedy:
    """Another release of the driver in the GPU operator's own container."""
    return remedy(
        environment,
        "This release of the driver does not build for the node's kernel: set driver.version of the GPU operator to a "
        "newer release of the branch that has a driver image for the node's operating system (here the last one of the "
        "branch that envkit knows; the tags of nvcr.io/nvidia/driver list them)."
        f"{_MIRRORED if seen(environment, 'dkms-build-failed', 'detail-own-registry') else ''}",
        "operator-driver",
        version=_last_of_branch(environment, matrix),
    )


def _last_of_branch(environment: Environment, matrix: Matrix) -> Version | None:
    """The last known release of the branch that fails to build; of the newest with long support where it is that."""
    told = Version.find(named(seen(environment, "dkms-build-failed", "detail-runfile"), "version") or "")
    own = told or installed(environment)
    branch = matrix.driver_branch(own.major) if own is not None else None
    last = branch.last_version if branch is not None else None
    if last is not None and last != own:
        return last
    kept = [row for row in matrix.driver_branches if row.kind == "lts" and row.last_version is not None]
    return kept[-1].last_version if kept else None


def other_kernel(environment: Environment) -> Remedy | None:
    """The remedy where another kernel is the way: the one whose headers are there, or one that worked."""
    if appliance(environment) == "nixos":
        return _on_nixos()
    return _other_headers(environment) or _left_from_upgrade(environment) or _back_to(environment)


def _left_from_upgrade(environment: Environment) -> Remedy | None:
    """The remedy where a package of an older Debian stops the headers of the new kernel from being configured."""
    package = named(seen(environment, "dkms-build-failed", "detail-old-package"), "package")
    if not package or not seen(environment, "dkms-build-failed", "headers-postinst"):
        return None
    return Remedy(
        f"{package} is from an older release of Debian and does not build for the new kernel; DKMS reports that as an "
        "error, so the kernel's headers stay unconfigured. If the first command shows no version in an archive, purge "
        "the package, and finish the upgrade. nvidia-detect then names the driver that this release has for the card; "
        "install that one before you restart. These commands are for Debian (/etc/os-release names the system).",
        (
            run("apt-cache", "policy", NAME(package)),
            run("sudo", "apt-get", "purge", NAME(package)),
            fixed("sudo dpkg --configure -a"),
            fixed("sudo apt-get install nvidia-detect"),
            fixed("nvidia-detect"),
        ),
    )


def _other_headers(environment: Environment) -> Remedy | None:
    """The remedy where only another kernel's headers are installed: DKMS has built nothing, and there is no log."""
    others = [message.values["devel"] for message in seen(environment, "dkms-build-failed", "detail-other-devel")]
    running = (environment.system.kernel.value or "").removesuffix(".x86_64")
    if (
        not others
        or not running
        or running in others
        or any(entry.state == "broken" for entry in dkms_entries(environment))
    ):
        return None
    return remedy(
        environment,
        f"DKMS did not build anything: kernel-devel is for {others[0]}, but {running} is running. Upgrade the kernel "
        "and boot into it; DKMS then builds the module (if not: sudo dkms autoinstall, then sudo modprobe nvidia). "
        "To keep the running kernel, install its own kernel-devel instead, if the repositories still have it (yum "
        "install kernel-devel-$(uname -r)).",
        "upgrade-kernel",
        "reboot",
    )


def _back_to(environment: Environment) -> Remedy | None:
    """The remedy where the text names a kernel for which the module was built."""
    before = named(seen(environment, "dkms-build-failed", "detail-kernel-left"), "before")
    package = named(seen(environment, "dkms-build-failed", "detail-worked-on"), "package")
    if package:
        return Remedy(
            f"The driver builds for {package}, but not for the running kernel: install {package} with its headers, "
            "choose it in the boot menu, and keep using it. A newer driver does not help, because this branch is the "
            "last one for the card.",
            (
                run("sudo", "xbps-install", "-S", NAME(package), NAME(f"{package}-headers")),
                fixed("sudo reboot"),
            ),
        )
    if not before:
        return None
    running = environment.system.kernel.value
    other = running if running and running != before else "the kernel that fails"
    return Remedy(
        f"Boot kernel {before}, for which the driver was built: choose it in the boot menu (Advanced options). No "
        f"other driver is needed. Then remove the packages of {other}, which the command lists, so that it is not "
        "booted again.",
        (run("dpkg", "-l", "linux-image*"),),
    )


BACKPORTS = (
    "This driver release does not build against this kernel. Install the newer driver from Debian's backports, which "
    "also finishes configuring the half-configured driver package. If backports are not enabled, add them as described "
    "at https://backports.debian.org/Instructions, including contrib and non-free. Afterward, dkms status must report "
    "'installed'. Alternatively, boot Debian's own kernel, which the installed driver supports: choose it in the boot "
    "menu under Advanced options."
)


def _on_nixos() -> Remedy:
    """By the configuration, which names kernel and driver."""
    return Remedy(
        "The kernel of your configuration is newer than the driver that it builds. In configuration.nix, take NixOS's "
        "default kernel (boot.kernelPackages = pkgs.linuxPackages; in place of linuxPackages_latest or another one), "
        "or a newer driver (hardware.nvidia.package = config.boot.kernelPackages.nvidiaPackages.latest;, .beta for "
        "a newer one). If the newest branch has dropped your GPU, stay with its legacy branch and update the channel. "
        "Then rebuild; the present generation stays in the boot menu.",
        (fixed("sudo nixos-rebuild boot"), fixed("sudo reboot")),
    )


def of_backports(environment: Environment) -> bool:
    """True on a Debian whose own packages brought the driver: there are no packages of single branches."""
    entries = [entry.module for entry in dkms_entries(environment)]
    debian = "debian" in managers(environment) or (
        environment.system.os.known and environment.system.os.get().id == "debian"
    )
    return debian and any(module.startswith(("nvidia-current", "nvidia-tesla")) for module in entries)


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


def failed_for_another(environment: Environment) -> list[Evidence]:
    """The message of a build that failed, and that no module is loaded: what is installed is for other kernels."""
    failed, unloaded = seen(environment, "dkms-build-failed"), seen(environment, "driver-module-not-loaded")
    return [*message_evidence(environment, (*failed, *unloaded))] if failed and unloaded else []


def begun(environment: Environment) -> bool:
    """Whether a build for the running kernel began, and headers are missed for others alone, such as a mistyped one."""
    running = environment.system.kernel.value
    tried = {message.values.get("kernel") for message in seen(environment, "dkms-build-failed")}
    missed = {message.values.get("kernel") for message in seen(environment, "kernel-headers-missing")}
    return running is not None and running in tried and None not in missed and running not in missed
