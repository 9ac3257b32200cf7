"""The module on disk gets loaded: without a restart, by one, or from an initramfs that was built again."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import families, remedy
from envkit.checks.nvidia_driver.driver_state import module_versions
from envkit.model import Environment

_ID = "driver-library-mismatch"
_UNASKED = (
    *("detail-unattended", "detail-unasked-nobody", "detail-unasked-touch"),
    *("detail-unasked-overnight", "detail-unasked-while", "detail-unasked-triggers"),
)
_HELD = (
    " The update came by itself: also hold the driver's packages as below, so that no running machine gets another one "
    "again (unhold them for an update, and reboot after it; for machines made of one image, do it in the image)."
)
_NIXOS = Remedy(
    "nixos-rebuild switch brought the new driver's libraries, but the module of the system that was booted stays "
    "loaded: reboot. If jobs still have to finish first, go back until then (sudo nixos-rebuild switch --rollback), so "
    "that new programs find the old libraries again. When an update changes the driver, use nixos-rebuild boot instead "
    "of switch, and reboot at a time of your choice.",
    (fixed("sudo reboot"),),
)
OSTREE = Remedy(
    "The system image has driver libraries and a kernel module of two releases, which no reload or package changes: go "
    "back to the image before the update, which still works, and reboot. Update again when the project has published a "
    "newer image; sudo ostree admin pin 0 keeps the one that works until then.",
    (fixed("sudo rpm-ostree rollback"), fixed("sudo reboot")),
)
_OF_IMAGES = {"nixos": _NIXOS, "ostree": OSTREE}
_BY_OTHERS = (
    "This needs root: send the administrators the commands below, or ask them to reboot the machine. Nothing that you "
    "install changes it; until then, use another machine. "
)


def on_disk(environment: Environment) -> set[Version]:
    """The versions of the module files for the running kernel."""
    return {version for version in module_versions(environment) if version is not None}


def reload(environment: Environment) -> Remedy:
    """How the module that fits the libraries is loaded, by what the text shows of the one on disk."""
    library = environment.driver.user_space.value
    system = appliance(environment)
    if system in _OF_IMAGES:
        return _OF_IMAGES[system]
    if seen(environment, _ID, "detail-after-boot", "detail-instances") and library is not None:
        return remedy(
            environment,
            f"The mismatch exists right after booting, so the module on disk may be the old one, too. If the first "
            f"command prints {library}, {_place(environment)}, the second is enough. Otherwise, reinstall all driver "
            "packages at the same version (the module's package, nvidia-dkms or the distribution's "
            "linux-modules-nvidia, and the libraries), reboot, and rebuild the image.",
            "module-on-disk",
            "reload-module",
        )
    newer = library is not None and library in _built(environment)
    if seen(environment, _ID, "detail-reboot") or (newer and seen(environment, _ID, "detail-loading")):
        return _in_initramfs(environment, library)
    return _plain(environment, library)


def _built(environment: Environment) -> set[Version]:
    """The versions of the modules for the running kernel, by their files, DKMS, or modinfo."""
    running = environment.system.kernel.value
    entries = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    built = [entry.version for entry in entries if entry.state == "installed" and running in (None, entry.kernel)]
    shown = named(seen(environment, _ID, "detail-on-disk"), "version")
    found = (Version.find(text) for text in (*built, shown) if text)
    return on_disk(environment) | {version for version in found if version is not None}


def _in_initramfs(environment: Environment, library: Version | None) -> Remedy:
    """A reboot loads the old module again: the initramfs still has it."""
    of_loader = "suse" in families(environment) and managed_by(environment, "systemd-boot")
    where = (
        " With systemd-boot, the boot loader reads its own copy of it, which dracut alone does not replace."
        if of_loader
        else ""
    )
    return remedy(
        environment,
        f"If the first command prints {library or 'the version of the libraries'}, the module on disk is the right "
        "one, but a reboot still loads the old module: it is in the initramfs. Rebuild that, and reboot; do the same "
        f"after a later driver update that shows this again.{where} If it prints another version, the module was not "
        "built: reinstall the package of the module (dkms status lists what is built) before you do so.",
        "module-on-disk",
        "initramfs-of-loader" if of_loader else "initramfs",
        "reboot",
    )


def _plain(environment: Environment, library: Version | None) -> Remedy:
    unasked = bool(seen(environment, _ID, *_UNASKED))
    asks = _BY_OTHERS if managed_by(environment, "no-root") else ""
    given = remedy(
        environment,
        f"{asks}Usually, an update brought new libraries while the old module stayed loaded: a reboot loads the new "
        f"module. To do it without a reboot, {_place(environment)}, use the second command. If the module is in use, "
        "first stop the programs that `sudo fuser -v /dev/nvidia*` lists (if a desktop is among them, reboot instead). "
        f"If the first command prints a version other than {library or 'that of the libraries'}, neither way "
        f"helps: rebuild or reinstall the driver's module and libraries at one version, then "
        f"reboot.{_HELD if unasked else ''}",
        "module-on-disk",
        "reload-module",
        *(("hold",) if unasked else ()),
    )
    return Remedy(given.advice, (*given.steps, fixed("nvidia-smi")))


def _place(environment: Environment) -> str:
    """Where and when modules can be reloaded: never in a pod."""
    if managed_by(environment, "kubernetes"):
        return "on the node (not in the pod), while no program is using the GPU"
    return "while no program is using the GPU"
