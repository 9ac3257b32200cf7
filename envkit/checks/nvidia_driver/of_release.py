"""Systems whose driver comes with their release: what is left for a GPU that its branches no longer support."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy

_UNRAID = (
    "Branch {branch} is the last one for this GPU. On Unraid, the Nvidia-Driver plugin has the driver, built for the "
    "kernel of the Unraid release: select a version of branch {branch} on its page, and restart the server. If its "
    "list does not have one, none is built for this kernel, no newer branch takes the card, and a module built by hand "
    "is not tested with it: go back to the last Unraid release whose plugin lists {branch} (Tools > Update OS, or the "
    "previous version on the flash drive), and stay there, or use a newer card. For transcoding, the processor's own "
    "graphics (Intel Quick Sync) does as well."
)


_TALOS = (
    "Branch {branch} is the last one for this GPU. On Talos, the driver is a system extension of the machine image, "
    "and the project publishes those of current branches only, which ignore this card: build an extension of branch "
    "{branch} for this Talos release (its pkgs and extensions repositories have the recipes) and an image with it, "
    "run the node on another Linux distribution that packages {branch}, or use a card of the Maxwell generation or "
    "newer."
)
_OF_IMAGES = {"unraid": _UNRAID, "talos": _TALOS}  # systems whose drivers come with the release


def of_release(managers: Iterable[str], branch: int) -> str:
    """What to do on the first of these that is such a system; '' where none is."""
    words = next((_OF_IMAGES[name] for name in managers if name in _OF_IMAGES), "")
    return words.format(branch=branch)


def on_nixos(branch: int) -> Remedy:
    """By the configuration, which names the driver."""
    return Remedy(
        f"Branch {branch} is the last one for this GPU. Set these two lines in configuration.nix (in place of other "
        f"values of the same options): hardware.nvidia.package = "
        f"config.boot.kernelPackages.nvidiaPackages.legacy_{branch}; and hardware.nvidia.open = false; then rebuild "
        "and reboot. If the driver does not build for your kernel, take NixOS's default one (boot.kernelPackages = "
        "pkgs.linuxPackages;). nvidia-smi then shows the card.",
        (fixed("sudo nixos-rebuild boot"), fixed("sudo reboot")),
    )
