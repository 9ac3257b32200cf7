"""How the driver's kernel module and its libraries get the same version again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.half_upgraded import blocked, half_upgraded
from envkit.checks.nvidia_driver.image_libraries import not_of_the_system
from envkit.checks.nvidia_driver.packages import by_runfile
from envkit.checks.nvidia_driver.reload import on_disk, reload
from envkit.checks.nvidia_driver.stale_libraries import of_older_drivers, of_other_branch, without_package
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix


def same_version(environment: Environment, matrix: Matrix) -> Remedy:
    """How module and libraries get one version, by what put the other one there."""
    if elsewhere := not_of_the_system(environment):
        return elsewhere
    own = without_package(environment) or of_older_drivers(environment) or blocked(environment)
    if own or (own := of_other_branch(environment)):
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
    return reload(environment)


def _one_module(environment: Environment, message: Message) -> Remedy:
    """Kernel modules of two releases: each was built by DKMS, and a restart loads both again."""
    old, new = sorted((Version.parse(message.values["module"]), Version.parse(message.values["client"])))
    return remedy(
        environment,
        f"Kernel modules of two releases are installed, {old} and {new}; no restart helps. Remove the older ones, "
        "rebuild the newer ones and the initramfs, and reboot.",
        "one-module",
        "initramfs",
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
