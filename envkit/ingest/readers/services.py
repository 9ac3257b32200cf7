"""`systemctl status` of the driver's services, and `nvidia-smi nvlink -s`.

● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Active: failed (Result: exit-code) since Mon 2026-03-02 08:11:09 UTC; 2min ago
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, GpuClue, Listing, reader
from envkit.ingest.text import Text

_SERVICE = regex(
    r"(?P<name>nvidia-fabricmanager|nvidia-persistenced)\.service - [^\n]{3,80}\n"
    r"(?:[^\n]{0,160}\n){0,3}?\s{2,12}Active: (?P<state>active \(running\)|failed|inactive|activating)"
)
_ACTIVE = regex(
    r"systemctl is-active (?P<name>nvidia-fabricmanager|nvidia-persistenced)(?:\.service)?\n(?P<state>active"
    r"|inactive|failed)$",
    re.MULTILINE,
)
_UNIT = regex(
    r"^[ ●*×]{0,4}(?P<name>nvidia-fabricmanager|nvidia-persistenced)\.service {1,40}loaded {1,8}\w{6,12} {1,8}"
    r"(?P<state>running|failed|dead) {1,8}\w",
    re.MULTILINE,
)  # `systemctl list-units`
_VERSION = regex(r"Fabric Manager version is : (?P<version>\d{3}(?:\.\d{1,9}){1,2})")
_NVLINK_GPU = regex(
    r"^GPU (?P<index>\d{1,2}): [^\n]{3,120}\n(?P<links>(?:[ \t]{1,12}Link \d{1,2}: [^\n]{3,40}(?:\n|$)){1,24})",
    re.MULTILINE,
)
_NVSWITCH = regex(r"^(?:c\S{9,11} [^\n]{8,60} )?/dev/nvidia-nvswitch(?P<index>\d{1,2})$", re.MULTILINE)


@reader("services")
def read(text: Text) -> Iterator[Clue]:
    """Fabric Manager, the persistence daemon, NVSwitches and NVLink states."""
    for pattern, needle, lines in (
        (_SERVICE, ".service - ", 6),
        (_ACTIVE, "systemctl is-active", 2),
        (_UNIT, ".service ", 1),
    ):
        for match in text.matches(pattern, needle, lines=lines):
            running = match["state"] in ("active (running)", "active", "running")
            if match["name"] == "nvidia-persistenced":
                yield Fact("driver.persistence_daemon", running, match.start())
            else:
                state = "running" if running else "failed" if match["state"] == "failed" else "installed"
                yield Fact("driver.fabric_manager", state, match.start())
    for match in text.matches(_VERSION, "Fabric Manager version"):
        yield Fact("driver.fabric_manager_version", Version.parse(match["version"]), match.start())
    switches = {match["index"]: match.start() for match in text.matches(_NVSWITCH, "/dev/nvidia-nvswitch")}
    if switches:
        yield Fact("driver.nvswitches", len(switches), min(switches.values()))
    for match in text.matches(_NVLINK_GPU, "GPU ", lines=26) if text.holds("Link ") else ():
        states = re.findall(r"Link \d{1,2}: ([^\n]+)", match["links"])
        active = sum("inactive" not in state and "Disabled" not in state for state in states)
        values = {"nvlinks_active": active, "nvlinks_total": len(states)}
        yield GpuClue(Listing.DRIVER, int(match["index"]), values, match.start())
