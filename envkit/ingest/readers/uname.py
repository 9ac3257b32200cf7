"""`uname -a`, `uname -r`, `/proc/version` and hostnamectl: the running kernel, the architecture, and WSL.

Linux box 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024 x86_64 x86_64 GNU/Linux
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind

_ALL = regex(
    r"^Linux \S{1,80} (?P<kernel>\d{1,9}\.\d[\w.+~-]{0,80}) #[^\n]{5,200}?\b(?P<arch>x86_64|aarch64|ppc64le)\b"
    r"(?: \S{1,20}){0,3}$",
    re.MULTILINE,
)
_RELEASE = regex(
    r"^(?:[^\n]{0,120}[$#>%~❯;&] ?)?uname -r(?: ?(?:;|&&) ?[^\n]{1,200})?\n"
    r"(?:[^\n]{1,120}\n){0,2}?(?P<kernel>\d{1,3}\.\d{1,3}\.\d{1,4}[\w.+~-]{0,80})$",
    re.MULTILINE,
)  # also amid other commands of the same line, whose answers may come before
_MACHINE = regex(r"(?:^|[$#>%~❯] ?)uname -m\n(?P<arch>x86_64|aarch64|ppc64le)$", re.MULTILINE)
_VERSION = regex(r"(?:^|\] )Linux version (?P<kernel>\d{1,9}\.\d[\w.+~-]{1,80}) \(", re.MULTILINE)
_HOST = regex(r"^ {0,12}Kernel: Linux (?P<kernel>\d{1,9}\.\d[\w.+~-]{1,80})$", re.MULTILINE)


@reader("uname")
def read(text: Text) -> Iterator[Clue]:
    """Kernel release, architecture, and the kind of machine that the release's name gives away."""
    for pattern, needle, lines in (
        (_ALL, "Linux ", 1),
        (_RELEASE, "uname -r", 4),
        (_MACHINE, "uname -m", 2),
        (_VERSION, "Linux version", 1),
        (_HOST, "Kernel: Linux", 1),
    ):
        for match in text.matches(pattern, needle, lines=lines):
            groups = match.groupdict()
            if groups.get("arch"):
                yield Fact("system.architecture", groups["arch"], match.start())
            if groups.get("kernel"):
                yield Fact("system.kernel", groups["kernel"], match.start())
                yield from _kind(groups["kernel"], match.start())


def _kind(kernel: str, offset: int) -> Iterator[Clue]:
    if "WSL2" in kernel or "microsoft-standard" in kernel:
        yield Fact("system.machine_kind", MachineKind.WSL2, offset)
    elif kernel.endswith("-Microsoft"):
        yield Fact("system.machine_kind", MachineKind.WSL1, offset)
    elif "tegra" in kernel:
        yield Fact("system.machine_kind", MachineKind.JETSON, offset)
