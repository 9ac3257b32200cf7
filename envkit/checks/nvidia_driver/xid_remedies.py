"""Remedies for a GPU that left the bus, stopped responding, or did not start: the log first, then the gentlest step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.pci import pci_address
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import has_nvswitch_board, seen_gpus, share_of_power
from envkit.checks.gpu.module_flavors import needs_open
from envkit.checks.gpu.seat import BARE, seat_words
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SHARE = 0.7  # of a card's power, which a weak supply often still carries
_CLOSED_FIRST = ("none", "available")  # branches whose packages provide the proprietary module


_FIT = (
    "The virtual machine or the board has no room for the card's memory: its large region (BAR 1) has no address, so "
    "the driver reads nothing from the card and takes it for gone. Neither the card nor its power is at fault. In the "
    "firmware of the host, turn on Above 4G decoding (and Re-Size BAR, which needs it), and turn off CSM if the host "
    "boots by UEFI. Give a virtual machine a machine type and firmware with a large 64-bit window (q35 with OVMF), and "
    "remove a limit such as max-ram-below-4g. Power the host off and on. BAR 1 must then have an address (command, in "
    "the system that uses the card)."
)
_HOT = (
    "The card overheats: it was at its limit before it went, and what recovers when it has cooled down is not broken. "
    "Power the machine off and let it cool. A passive card (Tesla and other server cards without a fan) needs air "
    "pushed through its heat sink: mount a fan or blower with a duct on it; for a card with fans, clean it and check "
    "that they turn. If it is hot and loud even when idle, it has lost contact with its cooler: "
    "replace its thermal paste and pads. The command prints the temperature every five seconds: start your program "
    "again, and stop it above 85 C. A lower power limit (sudo nvidia-smi -pl WATTS) helps until then."
)
_EXTERNAL = (
    "The card is connected externally, and the connection is the first suspect: replace the cable with a short, "
    "certified one, connect it to a port of the board itself, and give the adapter its own power supply, switched on "
    "before the computer. Set the slot or port to an older PCIe generation in the firmware (Gen 3 or 2), and turn link "
    "power saving off (pcie_aspm=off on the kernel's command line). Where the firmware has no such setting, do it as "
    "root at each start, before the driver is loaded, with the address of the bridge above the card (lspci -t) as "
    "PORT: setpci -s PORT CAP_EXP+30.w=2:f, then setpci -s PORT CAP_EXP+10.w=20:20 (generation 2). If it still drops "
    "out, try another adapter, then the card in a desktop's slot: only if it fails there too, RMA it. A "
    "different driver does not fix this."
)
_LAPTOP = (
    "Save the log now, because it is lost when the power goes off. Then shut the laptop down and unplug it for a "
    "minute (a reboot is often not enough). The card cannot be reseated, so check what is left: the maker's own power "
    "adapter, the temperature under load (clean the fans), the maker's newest BIOS, and a current driver. The last "
    "command turns off the driver's power saving, from which laptop GPUs do not always wake up, as of the next "
    "boot (to undo this, remove the file that it writes). If the card still drops out while it is cool, the laptop "
    "needs repair."
)
_RETRAINED = (
    "The card dropped off the bus when its link was trained to a higher speed than its maker allows: remove that patch "
    "or setting, and power the machine off for a minute, which also resets the card (a reboot is not enough). Without "
    "it, the card works at its own speed; that only slows down loading data. Neither the driver nor the power supply "
    "is at fault."
)
_COLD = (
    "The card did not come back from its lowest power state (D3cold): the driver then finds nothing at its address. "
    "Switch the computer off, not just restart it, and on again. The command turns the driver's own power saving off "
    "from the next boot on (to undo it, remove the file). On a Surface, its power has a switch of its own "
    "(linux-surface: the command surface dgpu). A different driver does not fix this."
)


def _known_cause(environment: Environment) -> Remedy | None:
    """What the text itself shows: no room for the card, heat, an external connection, or its lowest power state."""

    def told(*variants: str) -> bool:
        return bool(seen(environment, "gpu-fallen-off-bus", *variants))

    if told("detail-unassigned", "detail-no-space"):
        return Remedy(_FIT, (fixed("lspci -vv -d 10de:"),))
    if told("detail-retrained"):
        return remedy(environment, _RETRAINED, "kernel-log")
    if told("detail-hot", "detail-hot-shown"):
        return Remedy(_HOT, (fixed("nvidia-smi --query-gpu=index,temperature.gpu,power.draw --format=csv -l 5"),))
    if told("detail-oculink", "detail-thunderbolt", "detail-egpu", "detail-dock"):
        return remedy(environment, _EXTERNAL, "kernel-log")
    if told("detail-d3cold"):
        return remedy(environment, _COLD, "no-dynamic-power")
    if _of_laptop(environment):
        return remedy(environment, _LAPTOP, "save-report", "kernel-log", "no-dynamic-power")
    return None


def _of_laptop(environment: Environment) -> bool:
    """Whether the card is a laptop's, by its name or by the text."""
    names = (gpu.name or "" for gpu in environment.gpus.value or ())
    return managed_by(environment, "laptop") or any("Laptop" in name for name in names)


_OPEN_ONLY = (
    "The card is fine: this release of the open kernel module starts only data-center GPUs unless an option allows "
    "others, as its message says. Set that option and restart, or install the proprietary module of the same release, "
    "or a newer branch, whose open module supports this card (Turing or newer) without the option."
)

_OPEN_ONLY_TALOS = (
    "The card is fine: this release of the open kernel module starts only data-center GPUs unless an option allows "
    "others, as its message says. In the node's machine configuration, under machine.kernel.modules, give the module "
    "nvidia the option: {name: nvidia, parameters: [NVreg_OpenRmEnableUnsupportedGpus=1]}. Apply it, drain the node, "
    "and restart it. A newer Talos has a branch whose open module supports this card (Turing or newer) without it."
)
_BY_TALOS = (
    fixed("talosctl -n NODE edit machineconfig"),
    fixed("kubectl drain NODE --ignore-daemonsets"),
    fixed("talosctl -n NODE reboot"),
)
_VBIOS = (
    "Newer driver branches need a newer VBIOS on these boards, which comes with the server maker's firmware, not with "
    "the driver: note the GPU's VBIOS version on the driver that works (first command), ask the maker of the server "
    "for the firmware that the newer branch needs, and stay on the working branch until it is installed. The second "
    "command, on the newer branch, shows what the driver says."
)


def off_the_bus(environment: Environment, matrix: Matrix) -> Remedy:
    """The log first: it is gone with the power."""
    if own := _known_cause(environment):
        return own
    saved = (
        "Save the log now, because it is lost when the power goes off. Then stop or drain everything that runs on the "
        "machine, and power it off for a minute (a reboot is often not enough)."
    )
    then = (
        f"If the error comes back, contact the vendor: {BARE}."
        if has_nvswitch_board(environment)
        else "Check cooling, seating, power cables, and riser. To find out whether the card or the slot is faulty, "
        "swap the card with another one: if the fault follows the card, RMA the card. A different driver does not "
        "fix this."
    )
    if seen(environment, "pcie-link-errors") and not has_nvswitch_board(environment):
        then = (
            "The link reported errors for some time before: check the connection first. Reseat the card and its "
            "power cables, remove the riser, or try a different slot. If the errors follow the card into another "
            "slot, RMA it. A different driver does not fix this."
        )
    if seen(environment, "gpu-fallen-off-bus", "detail-riser") and not has_nvswitch_board(environment):
        then = (
            "It began with the riser: put the card directly into a slot. If it then stays on the bus, replace the "
            "riser with a shorter or better one (shielded, and made for this PCIe generation) with its own power, or "
            "set the slot to an older PCIe generation in the firmware. If the error follows the card, RMA it."
        )
    elif seen(environment, "gpu-fallen-off-bus", "told-riser"):
        then = (
            "Check the risers first: each needs its own cable from the power supply (a six-pin or Molex cable, no "
            "adapter from SATA, and few of them on one cable), and the supply needs headroom. Try the card that drops "
            "out with another riser and cable, then directly in a slot, at stock clocks. If the error follows the "
            "card, RMA it. A different driver does not fix this."
        )
    if seen(environment, "gpu-fallen-off-bus", "detail-supply", "detail-supply-german"):
        watts = share_of_power(seen_gpus(environment, matrix), _SHARE)
        return remedy(
            environment,
            f"{saved} What you describe (an old or small power supply, fewer failures under less load, the same with "
            "every driver) points to the power supply. To test that, limit the card's power, which lasts until the "
            "next restart: if the machine then stays up, replace the power supply with one that has headroom, and "
            "use separate power cables. Otherwise, try another slot, then another card.",
            "save-report",
            "power-limit-all" if watts else "power-range",
            watts=watts,
        )
    return remedy(environment, f"{saved} {then}", "save-report", "kernel-log")


def reset_or_reboot(environment: Environment, matrix: Matrix) -> Remedy:
    """A reset of this GPU alone, unless the driver itself asks for a reboot."""
    address = pci_address(named(seen(environment, "gsp-timeout"), "pci_address") or "") or "GPU"
    own = installed(environment)
    row = matrix.driver_branch(own.major) if own is not None else None
    last = row.last_version if row is not None else None
    later = own is not None and last is not None and last > own
    newer = f"the last release of this branch, {last}, or a newer branch" if later else "a newer driver branch"
    spared = row is not None and row.open_kernel_module in _CLOSED_FIRST and not _open_module(environment, matrix)
    without = (
        " Until then, the second command turns the GSP off starting with the next boot, which this branch's "
        "proprietary module allows. To undo it, remove the file."
        if spared
        else ""
    )
    asked = any("Reboot Required" in message.text for message in seen(environment, "xid-other"))
    if asked:
        first = "Save the report, then reboot: the driver itself says that a reboot is required (Xid 154)."
    else:
        first = (
            "Save the report. Then stop the programs on this GPU and try to reset only this GPU (`sudo nvidia-smi -i "
            f"{address} --gpu-reset`); if that hangs, reboot."
        )
    return remedy(
        environment,
        f"{first} To keep it from coming back, install {newer}.{without}",
        "bug-report",
        *(("without-gsp",) if spared else ()),
        "reboot",
    )


def _open_module(environment: Environment, matrix: Matrix) -> bool:
    return environment.driver.open_kernel_module.value is True or needs_open(environment, matrix)


_FIRMWARE = (
    "The card's own security processor (FSP) does not answer, so the driver cannot start it; cables and slots have no "
    "part in that. With confidential computing, the firmware of early cards is too old for it: ask the vendor of the "
    "server or the card for a VBIOS that supports it (NVIDIA offers it to vendors only), and install it on the host, "
    "with the mode switched off. The first command prints the card's present one there; it prints nothing in a guest "
    "that cannot start the card. Without confidential computing, switch the machine off and on again (a restart is "
    "not enough), then update the VBIOS, too."
)


def look_at_log(environment: Environment, matrix: Matrix) -> Remedy:
    """What the kernel log says before the failure, and what there is to check on a card or a module."""
    if seen(environment, "rm-init-adapter-failed", "told-grace-since", "told-vbios"):
        return remedy(environment, _VBIOS, "board-vbios", "module-log")
    if seen(environment, "rm-init-adapter-failed", "detail-open-only") and appliance(environment) == "talos":
        return Remedy(_OPEN_ONLY_TALOS, _BY_TALOS)
    if seen(environment, "rm-init-adapter-failed", "detail-open-only"):
        return remedy(environment, _OPEN_ONLY, "open-on-any-gpu", "reboot")
    if seen(environment, "rm-init-adapter-failed", "detail-fsp"):
        return remedy(environment, _FIRMWARE, "board-vbios", "module-log")
    power = seat_words(environment, "power cables and ", "")
    last = seat_words(environment, "try the card in another machine.", f"contact the vendor: {BARE}.")
    return remedy(
        environment,
        f"Read the lines before the failure in the kernel log; check {power}the firmware setting 'Above 4G decoding'; "
        f"try a newer driver. If none of that helps, {last}",
        "module-log",
    )
