"""The Linux inside Windows: its driver is that of Windows."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.solver.model import Conflict
from envkit.tables.codes import limit


def refused_driver(driver: Version) -> Conflict | None:
    """Why a driver cannot give WSL a GPU; None for one that can."""
    first = limit("driver-for-wsl")
    if driver >= first:
        return None
    detail = (
        f"CUDA in WSL needs WSL 2 (WSL 1 has no GPU) and the Windows driver of branch {first} or newer on Windows; "
        "never install a Linux driver inside WSL, and remove one that is there"
    )
    return Conflict(("wsl", f"driver {driver}"), detail, ("nvidia-wsl-guide",))
