"""What kind of kernel a system runs: its metapackages are named after that."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import families, remedy
from envkit.model import Environment

_DEBIAN_KERNEL = regex(r"\d{1,2}\.\d{1,3}\.\d{1,3}-\d{1,3}-(?P<flavor>[a-z0-9-]{3,40})")
_DEBIAN_OR_UBUNTU = regex(
    r"\d{1,2}\.\d{1,3}\.\d{1,3}-\d{1,4}-(?P<flavor>(?:cloud-|rt-)?(?:amd64|arm64)|generic|lowlatency|aws|azure|gcp"
    r"|oracle|nvidia|kvm)(?:-\d[\d.]{1,8})?"
)


def newer_kernel(environment: Environment, older: str) -> Remedy | None:
    """The remedy where the repositories no longer have the headers of the running kernel; None where they may."""
    gone = seen(environment, "kernel-headers-missing", "apt", "no-package")
    kernel = named(gone, "kernel") or environment.system.kernel.value or ""
    flavor = _DEBIAN_OR_UBUNTU.fullmatch(kernel)
    by_name = {"debian": flavor["flavor"]} if flavor else {}
    packages = next((name for name in families(environment) if name in ("debian", "rhel", "yum")), "debian")
    if not gone or not kernel[:1].isdigit():
        return None
    if packages == "debian" and not by_name:
        return Remedy(
            f"The repositories have no headers for kernel {kernel}, because it is not a kernel of this distribution: "
            "install the headers from where the kernel came from (the provider, or the project that builds it), or "
            f"boot a kernel of the distribution, for which they are there.{older}"
        )
    return remedy(
        environment,
        f"The repositories no longer have the headers for kernel {kernel}, because a newer kernel has replaced it. "
        "Upgrade the kernel and its headers together, and reboot into the new kernel. DKMS then builds a driver that "
        f"is registered with it; if yours is not, run the driver's installer again.{older}",
        "upgrade-kernel",
        "reboot",
        flavor=by_name.get("debian"),
    )


def debian_flavor(environment: Environment) -> str:
    """How Debian calls this kind of kernel, `cloud-amd64` of 5.10.0-25-cloud-amd64; '' elsewhere."""
    release = environment.system.os.value
    match = _DEBIAN_KERNEL.fullmatch(environment.system.kernel.value or "")
    return match["flavor"] if match and release is not None and release.id == "debian" else ""


def dkms_off(environment: Environment, older: str) -> Remedy | None:
    """The remedy where the service that builds modules for new kernels is switched off."""
    if not seen(environment, "module-missing-for-running-kernel", "detail-dkms-disabled"):
        return None
    return remedy(
        environment,
        "dkms.service, which builds the modules for a new kernel at boot, is disabled: enable it, and build the module "
        f"for the running kernel now (its headers or devel package must be installed), then restart.{older}",
        "dkms-at-boot",
        "reboot",
    )


def not_rebooted(environment: Environment) -> Remedy | None:
    """The remedy where an upgrade took away the running kernel's modules: they can't be built again."""
    if not seen(environment, "module-missing-for-running-kernel", "detail-kernel-removed", "detail-not-rebooted"):
        return None
    return remedy(
        environment,
        "The upgrade replaced the kernel and removed the running one's modules and headers, so nothing can be loaded "
        "or built for it: reboot into the new kernel. If the module is missing there too, install the driver's "
        "package for that kernel (on Arch Linux: nvidia-open for linux, nvidia-open-dkms and the headers for others).",
        "reboot",
    )


def of_akmods(environment: Environment, older: str) -> Remedy | None:
    """The remedy where akmods builds the driver's module: dkms would build a second one."""
    if not managed_by(environment, "akmods") and not seen(
        environment, "module-missing-for-running-kernel", "detail-akmod"
    ):
        return None
    if seen(environment, "module-missing-for-running-kernel", "detail-weak-updates"):
        return remedy(
            environment,
            "The module that modprobe finds was built by DKMS for an older kernel and left in weak-updates; akmods "
            "builds yours, and the two conflict. Remove DKMS and its files (without it, other modules that it "
            "builds, such as those of ZFS or VirtualBox, are not built for later kernels), then let akmods build the "
            f"module for the running kernel.{older}",
            "without-dkms",
            "akmods-build",
        )
    return remedy(
        environment,
        f"Let akmods, which builds the driver's module here, build it for the running kernel. If dkms is installed, "
        f"too, remove it and its module first (sudo dkms remove nvidia/VERSION --all): the two get in each other's way."
        f"{older}",
        "akmods-build",
    )


_OF_INSTALLER = regex(r"/lib/modules/(?P<kernel>[^/\s]{3,80})/kernel/drivers/video/nvidia\.ko")


def of_installer(environment: Environment, older: str) -> Remedy | None:
    """The remedy where NVIDIA's installer made the module for one kernel: DKMS knows nothing of it."""
    files = environment.kernel.module_files.get() if environment.kernel.module_files.known else ()
    own = next((match["kernel"] for file in files if (match := _OF_INSTALLER.search(file.path))), None)
    kernel = own or named(seen(environment, "module-missing-for-running-kernel", "detail-by-installer"), "kernel")
    if kernel is None and not seen(environment, "module-missing-for-running-kernel", "detail-runfile"):
        return None
    which = f"for kernel {kernel} only" if kernel else "for the kernel of that time only"
    return remedy(
        environment,
        f"NVIDIA's installer (the .run file) made the module {which}, and DKMS does not know it: run "
        "the installer again in the running kernel, this time with --dkms, so that later kernels get their module. "
        "Run it in the directory of the file; if it is gone, download the same release from nvidia.com/drivers. "
        f"nvidia-smi then shows the GPU, and containers can be started again.{older or _UNTIL_THEN}",
        "dkms-tools",
        "runfile-dkms",
        "who-uses",
    )


_UNTIL_THEN = " Until then, you can boot the kernel that has the module."


def by_script(environment: Environment, older: str) -> Remedy | None:
    """The remedy where a script installed the driver for one kernel, without DKMS."""
    if not seen(environment, "module-missing-for-running-kernel", "detail-script", "detail-script-abroad"):
        return None
    return remedy(
        environment,
        "The script built the module only for the kernel of that time, so each new kernel, which a restart boots, has "
        "none. Install DKMS, the compiler, and the headers first, then run the script again in the running kernel: "
        "NVIDIA's installer then registers its module with DKMS (if the script has an option for DKMS, use it; the "
        "installer's own is --dkms). dkms status must list the driver as installed; later kernels then get their "
        f"module by themselves.{older or _UNTIL_THEN}",
        "dkms-tools",
        "dkms-listed",
    )


def registered_again(environment: Environment, older: str) -> Remedy | None:
    """The remedy where DKMS lists nothing at all: what it does not know, it does not build."""
    if not seen(environment, "module-missing-for-running-kernel", "detail-dkms-empty"):
        return None
    return remedy(
        environment,
        "DKMS lists no module, although the driver's sources are installed: the update of its package removed what it "
        "had built. Register and build it again for the running kernel. If a later update of that package removes it "
        f"once more, repeat this, and report it to the repository that provides the package.{older}",
        "dkms-register",
    )
