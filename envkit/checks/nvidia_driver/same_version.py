"""How the driver's kernel module and its libraries get the same version again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.driver_state import module_versions
from envkit.checks.nvidia_driver.half_upgraded import half_upgraded
from envkit.checks.nvidia_driver.image_libraries import not_of_the_system
from envkit.checks.nvidia_driver.packages import by_runfile
from envkit.checks.nvidia_driver.stale_libraries import without_package
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "driver-library-mismatch"


def same_version(environment: Environment, matrix: Matrix) -> Remedy:
    """How module and libraries get one version, by what put the other one there."""
    if elsewhere := not_of_the_system(environment):
        return elsewhere
    if own := without_package(environment):
        return own
    if two := seen(environment, "driver-library-mismatch", "modeset"):
        return _one_module(environment, two[0])
    if half := half_upgraded(environment):
        return half
    library = environment.driver.user_space.value
    if on_disk(environment) and library is not None and library not in on_disk(environment):
        if by_runfile(environment):
            return user_space(environment, max(on_disk(environment)))
        return _reinstall(environment)
    return _reload(environment)


def _one_module(environment: Environment, message: Message) -> Remedy:
    """Kernel modules of two releases: each was built by DKMS, and a restart loads both again."""
    old, new = sorted((Version.parse(message.values["module"]), Version.parse(message.values["client"])))
    return remedy(
        environment,
        f"Kernel modules of two releases are installed, {old} and {new}; no restart helps. Remove the older ones, "
        "rebuild the newer ones, and rebuild the initramfs with your distribution's own tool.",
        "one-module",
        "reboot",
        version=new,
        stale=old,
    )


def user_space(environment: Environment, version: Version | None) -> Remedy:
    """The libraries of the module's version, where the driver came by NVIDIA's installer."""
    return remedy(
        environment,
        "This driver was installed with NVIDIA's installer, not from packages: install the libraries of "
        f"{version or 'the module'} from that version's .run installer; --no-kernel-modules keeps the module.",
        "runfile-libraries",
        version=version,
    )


def on_disk(environment: Environment) -> set[Version]:
    """The versions of the module files for the running kernel."""
    return {version for version in module_versions(environment) if version is not None}


_IN_INITRD = (
    " If a reboot brings the old module back although the first command prints the new version, the old one is in the "
    "initramfs: the last command rebuilds that (with systemd-boot on openSUSE: sudo sdbootutil add-all-kernels "
    "--no-reuse-initrd, which also puts it where the boot loader looks); then reboot."
)


_HELD = (
    " The update came by itself: the last command holds the driver's packages, so that no running machine gets another "
    "one again (unhold them for an update, and reboot after it; for machines made of one image, do it in the image)."
)


def _reload(environment: Environment) -> Remedy:
    library = environment.driver.user_space.value
    if seen(environment, _ID, "detail-after-boot", "detail-instances") and library is not None:
        return remedy(
            environment,
            f"The mismatch exists right after booting, so the module on disk may be the old one, too. If the first "
            f"command prints {library}, {_place(environment)[0].lower()}{_place(environment)[1:]}, the second is "
            "enough. Otherwise, reinstall all driver packages at the same version (the module's package, nvidia-dkms "
            "or the distribution's linux-modules-nvidia, and the libraries), reboot, and rebuild the image.",
            "module-on-disk",
            "reload-module",
        )
    newer = library is not None and library in on_disk(environment)
    again = _IN_INITRD if newer or seen(environment, _ID, "detail-reboot") else ""
    unasked = bool(seen(environment, _ID, "detail-unattended"))
    return remedy(
        environment,
        "If the module on disk does not match the libraries either, reinstall all driver packages at the same version "
        f"first. Then, {_place(environment)[0].lower()}{_place(environment)[1:]}, unload and reload the modules. If a "
        "module is in use, stop the programs that `sudo fuser -v /dev/nvidia*` lists and try again; if the modules "
        f"still cannot be unloaded, reboot.{again}{_HELD if unasked else ''}",
        *(("module-on-disk",) if again else ()),
        "reload-module",
        *(("initramfs",) if again else ()),
        *(("hold",) if unasked else ()),
    )


def _place(environment: Environment) -> str:
    """Where and when modules can be reloaded: never in a pod."""
    if "kubernetes" in managers(environment):
        return "On the node (not in the pod), while no program is using the GPU"
    return "While no program is using the GPU"


def _reinstall(environment: Environment) -> Remedy:
    version = environment.driver.user_space.value
    return remedy(
        environment,
        "The module on disk does not match the libraries either, so a reboot will not help. Reinstall all driver "
        "packages at the same version, then reboot.",
        "reinstall-packages",
        "reboot",
        branch=version.major if version else None,
    )
