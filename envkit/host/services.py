"""Which of the driver's services run, by the names of processes: in a container they are out of systemd's sight."""

from __future__ import annotations

import os

NAMES = frozenset({"nv-fabricmanage", "nvlsm", "nvidia-imex"})  # the kernel keeps fifteen characters


def running_services() -> list[str]:
    """Those of `NAMES` that some process has, sorted."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/comm", encoding="utf-8", errors="replace") as stream:
                    found.add(stream.readline().strip())
            except OSError:  # it ended meanwhile
                continue
    return sorted(found & NAMES)
