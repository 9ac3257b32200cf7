"""Why a kernel refuses a module that is signed: who starts it, which kernel it is, and whose key it wants."""

from __future__ import annotations

from envkit.checks.engine.command import PATH, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import families, remedy
from envkit.model import Environment

_ID = "secure-boot-unsigned-module"
_MOK = (
    "mokutil asks for a new password; at the next boot, MokManager (a blue screen on the console) asks for it: choose "
    "Enroll MOK. Do not reboot a machine whose console you cannot access."
)
_OTHER_LOADER = (
    "The module is fine: {loader} starts the kernel without shim, so the kernel does not know the keys that are "
    "enrolled with mokutil. Start Linux through shim, whose entry the first command lists (ubuntu, fedora, or the name "
    "of your distribution, with shimx64.efi): the second one selects it for the next boot only (put its four digits in "
    "place of 0000). To make this permanent, put it first in the firmware's boot order. To keep {loader}, let it start "
    "that shimx64.efi, not the kernel, or turn Secure Boot off. Installing the driver again changes nothing."
)
_BY_SUSE = (
    "The packages of NVIDIA's repository for openSUSE keep the key that signs their module in nvidia-pubkeys; it only "
    "has to be enrolled. mokutil uses the root password; at the next boot, "
    "MokManager (a blue screen on the console) asks for it: choose Enroll MOK. After an update of the driver, the key "
    "can be a new one: do the same again. Or turn Secure Boot off in the firmware setup."
)
_OWN_IMAGE = (
    "nvidia-installer links the modules again when it installs them, which drops the signature that your build made: "
    "the module that is loaded is unsigned. Let the installer sign it: in your image's nvidia-driver script, add both "
    "options below to the call of nvidia-installer, with the key pair whose certificate is enrolled on the nodes, and "
    "build the image again. Or use NVIDIA's precompiled driver containers (driver.usePrecompiled=true in the "
    "operator's Helm values), whose Ubuntu modules are signed by Canonical."
)
_IN_CONTAINER = (
    "The GPU operator's driver container builds modules that no key of the node signs. On Ubuntu nodes, use NVIDIA's "
    "precompiled driver containers, whose modules are signed by Canonical: set driver.usePrecompiled=true, and "
    "driver.version to a branch (such as 535). Otherwise, turn Secure Boot off on the nodes."
)

_SIGNED = fixed("nvidia-installer --module-signing-secret-key=PRIVATE_KEY --module-signing-public-key=CERTIFICATE")


def by_trust(environment: Environment) -> Remedy | None:
    """The remedy where the text shows why the key does not count; None where it does not."""
    if loader := named(seen(environment, _ID, "detail-other-loader", "detail-other-loader-refind"), "loader"):
        words = _OTHER_LOADER.format(loader=loader)
        return Remedy(words, (fixed("efibootmgr"), fixed("sudo efibootmgr --bootnext 0000"), fixed("sudo reboot")))
    if managed_by(environment, "gpu-operator"):
        return _in_operator(environment)
    if kernel := named(seen(environment, _ID, "detail-other-kernel"), "kernel"):
        return _of_kernel(environment, kernel)
    if key := named(seen(environment, _ID, "detail-not-enrolled"), "key"):
        return Remedy(
            f"The module is signed, but the key {key} is not enrolled. Enroll it. {_MOK} The module then loads without "
            "another build.",
            (run("sudo", "mokutil", "--import", PATH(key)), fixed("sudo reboot")),
        )
    if "suse" in families(environment):
        return remedy(environment, _BY_SUSE, "enroll-suse-key", "reboot")
    return None


def _in_operator(environment: Environment) -> Remedy:
    if seen(environment, _ID, "detail-own-signing"):
        return Remedy(_OWN_IMAGE, (_SIGNED,))
    return Remedy(_IN_CONTAINER)


def _of_kernel(environment: Environment, kernel: str) -> Remedy | None:
    """Where the key is enrolled, and other kernels accept modules that it signed."""
    if not seen(environment, _ID, "detail-enrolled"):
        return None
    return Remedy(
        f"The key is enrolled, and {kernel} accepts modules signed with it, so the running kernel does not trust "
        f"enrolled keys: neither the driver nor the key is at fault. Boot {kernel} (Advanced options in the boot "
        "menu), and keep it until a newer release of the other kernel loads the modules again; report it to the maker "
        "of that kernel. To use the new kernel until then, turn Secure Boot off in the firmware setup, which the "
        "command opens at the next boot.",
        (fixed("sudo systemctl reboot --firmware-setup"),),
    )
