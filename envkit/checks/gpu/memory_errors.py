"""What to do with a GPU whose memory has errors that ECC cannot correct: reset it, or take it out of service."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.base.pci import pci_address
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of
from envkit.model import Environment

_ID = "ecc-uncorrectable"
RESET = (
    "Let running jobs finish, then reset the GPU. If it cannot be reset (in a virtual machine, or on a board with "
    "NVSwitches), restart the machine. If the errors come back, RMA the card."
)
_FAILS_AGAIN = (
    "The errors came back after the row was remapped: this memory is failing. Take the card out of service and RMA "
    "it; the first command prints its serial number, the second runs the diagnostics that vendors ask for, while the "
    "GPU is idle. Until then, drain the node or hide the GPU with CUDA_VISIBLE_DEVICES."
)


_NOT_ACTIVATED = (
    "The log says that a faulty row is marked for remapping, and shows no reset since then; the spare row is used "
    "only after a reset. Drain the node, and reset this GPU (if it cannot be reset, reboot the machine). Then check "
    "that no row is pending, and run the diagnostics while the GPU is idle. If Xid 48 comes back after the reset, "
    "the memory is failing: RMA the card."
)


_AFTER_RESTART = (
    "The errors came back after a restart, which resets the GPU: its memory is failing, and neither a setting nor "
    "another program cures that. Take the card out of service and RMA it (out of warranty, replace it); the command "
    "prints its serial number."
)
_ON_A_NODE = (
    "The device plugin may hand this GPU out until its reset, so first keep new pods off the node (NODE is its name), "
    "and let those on the GPU end: other pods can go on if only this GPU is reset. Then reset it. If it cannot be "
    "reset (in a virtual machine, or on a board with NVSwitches), drain the node and restart the machine instead. If "
    "the errors come back, keep the node cordoned and RMA the card."
)
_RENTED = (
    " You cannot replace the card of a rented machine: if it cannot be reset, or if the errors come back, send the "
    "provider the message, and take another machine."
)


_FOR_ADMINISTRATORS = (
    "The GPU's memory fails, not the program: neither the batch size nor the code is at fault. Only an administrator "
    "can reset the GPU or replace the card: send them the name of the node, the message, and the line of the GPU "
    "whose number of errors is not 0 (command). Until then, leave that GPU out: set CUDA_VISIBLE_DEVICES to the "
    "numbers of the others, start one process for each of those, and continue from the last checkpoint; or run on "
    "another node."
)


def after_memory_error(environment: Environment) -> Remedy | None:
    """The reset of the GPU that has them; a reset does not fix memory that fails again."""
    messages = seen(environment, _ID)
    if seen(environment, _ID, "again"):
        if address := pci_address(named(seen(environment, _ID, "detail-not-activated"), "pci_address") or ""):
            return remedy(environment, _NOT_ACTIVATED, "reset", "remapped-rows", "diagnose", index=address)
        return remedy(environment, _FAILS_AGAIN, "card-numbers", "diagnose")
    if seen(environment, _ID, "detail-restarted"):
        return remedy(environment, _AFTER_RESTART, "card-numbers")
    gpus = gpus_of(environment)
    bad = [gpu for gpu in gpus if gpu.ecc_uncorrectable] or gpus
    only = (bad[0].pci_address or str(bad[0].index)) if len(bad) == 1 else ""
    if only and managed_by(environment, "kubernetes"):
        given = remedy(environment, _ON_A_NODE, "reset", index=only)
        return replace(given, steps=(fixed("kubectl cordon NODE"), *given.steps, fixed("kubectl uncordon NODE")))
    if only:
        rented = _RENTED if seen(environment, _ID, "detail-rented") else ""
        return remedy(environment, f"{RESET}{rented}", "reset", index=only)
    if gpus or any("pci_address" in message.values for message in messages):
        return None
    if managed_by(environment, "no-root"):
        return remedy(environment, _FOR_ADMINISTRATORS, "ecc-of-each")
    return remedy(environment, f"{RESET} The first command shows which GPU it is.", "reset-found")
