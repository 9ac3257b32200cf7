"""A laptop's GPU that its graphics switching has turned off: on again, in the words of the tool that did it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.engine.command import PROGRAM, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ON = {
    "system76-power": "This laptop's graphics are switched by system76-power: set its NVIDIA mode and reboot. If it "
    "stays integrated after that, shut down, unplug the charger and external displays, and hold the power button for "
    "ten seconds, so that the GPU loses all power; then start and set the mode again. While the GPU is off, "
    "/etc/modprobe.d/system76-power.conf blacklists nvidia; the tool writes that file anew with each mode, so if the "
    "lines are still there after the first command, move the file away and run sudo update-initramfs -u before the "
    "reboot.",
    "supergfxctl": "This laptop's graphics are switched by supergfxctl: set its hybrid mode and reboot. (If it "
    "refuses, the firmware's own switch, such as Eco mode, has turned the GPU off: set that first.)",
    "envycontrol": "This laptop's graphics are switched by EnvyControl: set its NVIDIA or hybrid mode and reboot.",
}
_ACTIONS = {
    "system76-power": "switch-system76-power",
    "supergfxctl": "switch-supergfxctl",
    "envycontrol": "switch-envycontrol",
}
_BUMBLEBEE = (
    "Bumblebee keeps the GPU off, and its module unloaded, except for programs that optirun starts: start every "
    "program that uses CUDA with it (command). To have the GPU on all the time, remove Bumblebee and bbswitch instead, "
    "and let the driver's own switching (prime-select nvidia on Ubuntu) turn it on."
)
_RULE = (
    "The rule 50-remove-nvidia.rules, which an older EnvyControl left behind, takes the GPU off the bus at each start, "
    "so that no mode brings it back: move the rule away (the newer release has its own in /etc/udev/rules.d; ls shows "
    "whether one is left there, too), make the initramfs again, and set the hybrid mode. After the restart, lspci "
    "lists the GPU."
)
_ANY = "Turn the GPU on (choose the NVIDIA or on-demand profile) and reboot."


def turned_on(environment: Environment, matrix: Matrix) -> Remedy:
    """By the tool that the text shows, otherwise by Ubuntu's."""
    if seen(environment, "optimus-gpu-off", "udev-rule"):
        given = remedy(environment, _RULE, "initramfs")
        aside = fixed("sudo mv /lib/udev/rules.d/50-remove-nvidia.rules /root/")
        after = (fixed("sudo envycontrol -s hybrid"), fixed("sudo reboot"))
        return replace(given, steps=(aside, *given.steps, *after))
    tool = named(seen(environment, "optimus-gpu-off", "detail-switcher", "detail-switcher-asus"), "tool") or ""
    if not tool and seen(environment, "optimus-gpu-off", "detail-bumblebee"):
        return Remedy(_BUMBLEBEE, (run("optirun", PROGRAM),))
    if tool in _ON:
        return remedy(environment, _ON[tool], _ACTIONS[tool])
    return remedy(environment, _ANY, "prime")
