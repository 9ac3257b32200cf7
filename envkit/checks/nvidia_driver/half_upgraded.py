"""Packages of pacman of which an upgrade replaced some and not the others."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

_MODULES_OF_PACMAN = ("nvidia", "nvidia-open", "nvidia-lts", "nvidia-open-lts", "nvidia-dkms", "nvidia-open-dkms")


def half_upgraded(environment: Environment) -> Remedy | None:
    """The remedy where pacman's packages of module and libraries are of two releases: a restart mixes them, too."""
    installed = [item for item in environment.packages.value or () if item.manager == "pacman"]
    releases = {item.name: item.version.rpartition("-")[0] for item in installed}
    modules = [releases[name] for name in _MODULES_OF_PACMAN if name in releases]
    library = releases.get("nvidia-utils")
    if not modules or library is None or library in modules:
        return None
    return Remedy(
        f"The installed packages are from two releases: the module's package is {modules[0]}, nvidia-utils is "
        f"{library}. This is a partial upgrade, which cannot be fixed by reloading the module or rebooting. Upgrade "
        "the whole system, then reboot.",
        (fixed("sudo pacman -Syu"), fixed("sudo reboot")),
    )


def blocked(environment: Environment) -> Remedy | None:
    """The remedy where apt refuses every step, because packages of two repositories block each other."""
    if not seen(environment, "driver-library-mismatch", "detail-broken-packages"):
        return None
    return all_anew(environment)


def all_anew(environment: Environment) -> Remedy:
    """Every driver package of apt removed, and installed again from one source."""
    return remedy(
        environment,
        "Packages from two sources or releases conflict, so a reboot does not help, and apt cannot repair them "
        "one by one. If the first command lists a file of NVIDIA's own repository (cuda*.list or cuda*.sources; that "
        "of the container toolkit does not matter), disable it first: add .disabled to its name, then sudo apt-get "
        "update. Then remove every driver package, let apt repair the rest, and install the distribution's driver "
        "again. Until then, the screen may only have a basic resolution; packages that need the driver are "
        "removed, too.",
        "purge-blocked",
        "reboot",
    )
