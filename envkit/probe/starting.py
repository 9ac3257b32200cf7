"""Whether the driver's first answer will take long: GPUs that sleep, or that no program has started yet."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.host.base import Host
from envkit.probe.text import colon_pairs

GPUS = "/proc/driver/nvidia/gpus"
BOUND = "/sys/bus/pci/drivers/nvidia/*/power_state"
_DAEMON = "nvidia-persistenced/socket"
_ASLEEP = ("D3hot", "D3cold")


def sleeping(host: Host) -> Mapping[str, str]:
    """The power state of each GPU that sleeps, by its address. Any question to the driver wakes it."""
    states = {path.split("/")[-2]: (host.read_text(path, 64).value or "").strip() for path in host.glob(BOUND)}
    return {address: state for address, state in states.items() if state in _ASLEEP}


def daemon_runs(host: Host) -> bool:
    """True where the persistence daemon keeps the GPUs started."""
    return any(host.status(f"{run}/{_DAEMON}").known for run in ("/run", "/var/run"))


def starts_slowly(host: Host) -> bool:
    """True where the first call has to start GPUs, which takes seconds for each of them.

    The driver writes question marks for the UUID of a GPU that it has not started.
    """
    if daemon_runs(host):
        return False
    names = host.list_dir(GPUS).value or ()
    for name in names:
        information = host.read_text(f"{GPUS}/{name}/information").value
        if information is None or "?" in colon_pairs(information).get("GPU UUID", "?"):
            return True
    return False
