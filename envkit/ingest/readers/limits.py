"""`df -h /dev/shm`, `ulimit -l`, `/proc/self/limits` and `ls -l /dev/nvidia*`: limits and device files.

shm              64M     0   64M   0% /dev/shm
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import DeviceNode

_SHM = regex(
    r"^(?:shm|tmpfs|none) {1,40}(?P<size>\d{1,9}(?:\.\d)?)"
    r"(?P<unit>[KMGT]?) {1,20}\S{1,12} {1,20}\S{1,12} {1,8}\d{1,3}% /dev/shm$",
    re.MULTILINE,
)
_LOCKED = regex(r"^Max locked memory {2,20}(?P<soft>\d{1,20}|unlimited) ", re.MULTILINE)
_ULIMIT = regex(
    r"(?:^max locked memory {2,20}\(kbytes, -l\) |[$#>] ?ulimit -l\n)(?P<soft>\d{1,16}|unlimited)$", re.MULTILINE
)
_NODE = regex(
    r"^c(?P<mode>[rwx-]{9})[.+]? \d{1,3} (?P<owner>\S{1,32}) {1,20}(?P<group>\S{1,32}) {1,20}"
    r"(?P<major>\d{1,4}), {1,6}(?P<minor>\d{1,8}) [^\n]{6,24}(?P<path>/dev/nvidia(?:ctl|-uvm|-modeset"
    r"|-uvm-tools|\d{1,3}))$",
    re.MULTILINE,
)
_UNITS = {"": 1024, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@reader("limits and nodes")
def read(text: Text) -> Iterator[Clue]:
    """Shared memory, locked memory, device files."""
    for match in text.matches(_SHM, "/dev/shm"):
        yield Fact("system.shm_bytes", int(float(match["size"]) * _UNITS[match["unit"]]), match.start())
    for match in text.matches(_LOCKED, "Max locked memory"):
        yield Fact("system.memlock_bytes", _limit(match["soft"], 1), match.start())
    for match in text.matches(_ULIMIT, "max locked memory", "ulimit -l", lines=2):
        yield Fact("system.memlock_bytes", _limit(match["soft"], 1024), match.start())
    yield from _nodes(text)


def _nodes(text: Text) -> Iterator[Clue]:
    """The device files, where the listing is whole: from /dev/nvidiactl on, in one piece, with more text below it."""
    found = list(text.matches(_NODE, "/dev/nvidia"))
    if not any(match["path"] == "/dev/nvidiactl" for match in found):
        return
    first, last = text.index(found[0].start()), text.index(found[-1].start())
    unread = [line for line in text.lines[first : last + 1] if "/dev/nvidia" not in line and "nvidia-caps" not in line]
    if len(unread) > 4 or not any(line.strip() for line in text.lines[last + 1 :]):
        return
    for match in found:
        device = f"{match['major']}:{match['minor']}"
        node = DeviceNode(match["path"], _octal(match["mode"]), match["owner"], match["group"], None, device)
        yield Item("driver.device_nodes", match["path"], node, match.start())


def _limit(text: str, unit: int) -> int:
    return -1 if text == "unlimited" else int(text) * unit


def _octal(mode: str) -> str:
    bits = "".join("0" if letter == "-" else "1" for letter in mode)
    return f"{int(bits, 2):04o}"
