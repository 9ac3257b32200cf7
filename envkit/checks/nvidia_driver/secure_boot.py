"""Secure Boot: does the kernel refuse the driver's module for want of a key?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import NO_OWN_DRIVER, is_virtual, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.cloud_firmware import without_secure_boot
from envkit.checks.nvidia_driver.dkms import kernels_with_module
from envkit.checks.nvidia_driver.driver_state import installed, loaded
from envkit.checks.nvidia_driver.key_trusted import by_trust
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NOTHING_TO_REJECT = "Secure Boot is on, but the running kernel has no module that it could reject"
_ONLY_ON = ("sb-state", "told-on", "told-may", "told-sb-state", "told-german")  # that it is on, and no more
_MISSING = "module-missing-for-running-kernel"
_NOT_FOUND = ("modprobe", "modinfo", "modprobe-quoted", "load-service")


_STOPS = "Rebooting stops everything running on the machine."
_BY_DKMS = "If the driver is NVIDIA's own, not RPM Fusion's, DKMS signs it: import /var/lib/dkms/mok.pub instead."


_OF_AN_IMAGE = Remedy(
    "The modules of this image are signed with the project's key, and the image has a command that enrolls it; the key "
    "that an installer offers can be an older one. To get a picture first, turn Secure Boot off in the firmware setup "
    "and boot. Run the commands; MokManager comes up during the reboot: choose Enroll MOK, and enter the password "
    "universalblue. Then turn Secure Boot on again. The image has the driver: install and build nothing.",
    (fixed("ujust enroll-secure-boot-key"), fixed("sudo systemctl reboot")),
)


def _signed(environment: Environment, matrix: Matrix) -> Remedy:
    if is_virtual(environment):
        return without_secure_boot(environment)
    names = managers(environment)
    if "systemd-boot" in names:
        return Remedy(
            "This machine boots with systemd-boot, without shim: the kernel ignores keys that mokutil enrolls, and "
            "MokManager never appears. The most reliable fix is to turn Secure Boot off in the firmware setup, which "
            "the command opens at the next boot. To keep it on, sign nvidia.ko and its companions after every driver "
            "or kernel update, with the kernel's scripts/sign-file and a key in the firmware's own list (db); or "
            f"install shim and enroll the key. {_STOPS}",
            (fixed("sudo systemctl reboot --firmware-setup"),),
        )
    if seen(environment, "secure-boot-unsigned-module", "detail-own-image"):
        return _OF_AN_IMAGE
    if trusted := by_trust(environment):
        return trusted
    fedora = environment.system.os.known and environment.system.os.get().id == "fedora" and "dkms" not in names
    if "akmods" in names or fedora:
        other = "" if "akmods" in names else f" {_BY_DKMS}"
        return remedy(
            environment,
            f"Enroll the key that akmods signs with.{other} mokutil asks you to choose a password, and MokManager "
            "asks for it on the console at the next boot. If that key is already enrolled, the machine boots without "
            "shim (systemd-boot, another loader): boot shimx64.efi, sign with a key from the firmware's own list, or "
            "turn Secure Boot off in the firmware.",
            "enroll-akmods-key",
            "reboot",
        )
    whole = (own := installed(environment)) is not None and len(own.parts) > 1
    return remedy(
        environment,
        "Enroll the key that DKMS signs the module with (a Machine Owner Key). mokutil asks for a new password, which "
        "MokManager requests on the console at the next boot: do not reboot a machine whose console you cannot access. "
        "If mokutil says the key is already enrolled, the machine boots without shim: choose shimx64.efi in the boot "
        "menu. Or use the distribution's signed modules, or turn Secure Boot off.",
        "enroll-key",
        "sign-module" if whole else "sign-listed-module",
        "reboot",
        version=own,
    )


_UNSIGNED = Fault(
    "secure-boot-unsigned-module",
    "Secure Boot is blocking the NVIDIA kernel module",
    impact="The kernel does not load the module, so no program can use the GPU.",
    remedy=_signed,
)


@check(
    _UNSIGNED,
    layer=Layer.KERNEL_MODULE,
    rank=25,
    elsewhere=NO_OWN_DRIVER,
    fix="Sign the module and enroll its key, use the distribution's signed modules, or disable Secure Boot.",
    explained_by=("no-gpu-on-pci", "gpu-bound-to-vfio", "driver-not-installed"),
    references=(
        *threads("secureblue/secureblue#1043", "lcp/mokutil#69", "Foxboron/sbctl#221"),
        "https://docs.bazzite.gg/General/Installation_Guide/secure_boot/",
    ),
)
def secure_boot_unsigned_module(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With Secure Boot on, the driver's module is signed with an enrolled key.

    The kernel rejects a module that it cannot verify: "Key was rejected by service". If there are no EFI variables, the
    machine booted in legacy mode or they cannot be read, which is not the same as "off".
    """
    if loaded(environment):
        yield ok("the kernel accepted the module", evidence=[known(environment, "driver.kernel_module")])
    elif environment.system.secure_boot.value is False and not seen(environment, _UNSIGNED.id, without="verification"):
        yield ok("Secure Boot is off", evidence=[known(environment, "system.secure_boot")])
    elif (reported := _UNSIGNED.reported(environment)) and not _nothing_to_reject(environment):
        yield reported
    elif reported:
        yield skip(_NOTHING_TO_REJECT, evidence=reported.evidence)
    elif not environment.system.secure_boot.known:
        yield _boot_unknown(environment)
    elif environment.system.secure_boot.get():
        yield _signature(environment)


def _nothing_to_reject(environment: Environment) -> bool:
    """Whether all that is said of Secure Boot is that it is on, and the running kernel has no module to load."""
    if len(seen(environment, _UNSIGNED.id, *_ONLY_ON)) < len(seen(environment, _UNSIGNED.id)):
        return False
    kernels = kernels_with_module(environment)
    without = kernels is not None and bool(kernels) and environment.system.kernel.get() not in kernels
    return without or bool(seen(environment, _MISSING, *_NOT_FOUND))


def _boot_unknown(environment: Environment) -> Outcome:
    evidence = [known(environment, "system.secure_boot")]
    if environment.system.secure_boot.absent:
        return skip("the machine did not boot through EFI", evidence=evidence)
    return unknown("cannot tell whether Secure Boot is on", evidence=evidence)


def _signature(environment: Environment) -> Outcome:
    files = environment.kernel.module_files.get() if environment.kernel.module_files.known else ()
    own = [file for file in files if file.kernel == environment.system.kernel.value]
    evidence = [known(environment, "system.secure_boot")]
    if not own:
        return skip(_NOTHING_TO_REJECT, evidence=evidence)
    files_seen = [Evidence("kernel.module_files", f"{file.path}: signed {file.signed}", "") for file in own]
    if any(file.signed is False for file in own):
        title = "Secure Boot is on, but the driver's module is not signed"
        return _UNSIGNED.found([*evidence, *files_seen], title=title)
    if all(file.signed for file in own):
        title = f"Secure Boot is on; {unseen(environment, 'whether the key of the module is enrolled')}"
        return unknown(title, evidence=evidence)
    return unknown("Secure Boot is on; whether the module is signed could not be read", evidence=evidence)
