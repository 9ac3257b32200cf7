"""`/etc/os-release`, `lsb_release -a`, hostnamectl.

ID=ubuntu
VERSION_ID="22.04"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.releases import described
from envkit.ingest.text import Text
from envkit.model import MachineKind
from envkit.probe.release_files import named
from envkit.probe.text import assignments

_FIELD = regex(r"^(?:ID|VERSION_ID|PRETTY_NAME|ID_LIKE)=[^\n]{1,120}$", re.MULTILINE)
_ID = regex(r"[a-z][\w.-]{1,30}")
_VERSION_ID = regex(r"\d[\w.]{0,20}")
_WORDS = regex(
    r"^(?:Description:[ \t]{1,20}| {0,12}Operating System: |OS Name: {1,30})(?P<words>[A-Z][^\n]{3,100})$", re.MULTILINE
)
_LINE = regex(
    r"^(?P<words>(?:CentOS(?: Linux)?|Red Hat Enterprise Linux(?: Server)?|Rocky Linux|AlmaLinux|Fedora) release "
    r"\d[\w. ()]{0,40})$",
    re.MULTILINE,
)
_VIRTUAL = regex(
    r"^ {0,12}Virtualization: (?P<kind>\S{1,30})"
    r"|(?:^|[$#>%] ?)systemd-detect-virt(?: ?(?:;|&&)[^\n]{1,120})?\n(?P<answer>[a-z][\w-]{1,20})$",
    re.MULTILINE,
)
_CONTAINERS = ("docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "rkt", "container-other", "openvz")


@reader("os-release")
def read(text: Text) -> Iterator[Clue]:
    """The distribution, and what hostnamectl says of the machine."""
    yield from _fields(text)
    for match in text.matches(_WORDS, "Description:", "Operating System: ", "OS Name: "):
        found = described(match["words"].removesuffix(" GNU/Linux"))
        if found is not None and not match["words"].startswith("Docker Desktop"):
            yield Fact("system.os", found, match.start())
    for match in text.matches(_LINE, " release "):
        found = described(match["words"])
        if found is not None:
            yield Fact("system.os", found, match.start())
    for match in text.matches(_VIRTUAL, "Virtualization: ", "systemd-detect-virt", lines=2):
        kind = match["kind"] or match["answer"]
        if kind == "wsl":
            yield Fact("system.machine_kind", MachineKind.WSL2, match.start())
        elif kind != "none":
            container = kind in _CONTAINERS
            yield Fact("system.machine_kind", MachineKind.CONTAINER if container else MachineKind.VM, match.start())
            yield Fact("system.vendor", kind, match.start())


def _fields(text: Text) -> Iterator[Clue]:
    """The release by the first os-release in the text; a second one is that of a container or of another machine."""
    fields: dict[str, str] = {}
    starts: dict[str, int] = {}
    for match in text.matches(_FIELD, "ID=", "PRETTY_NAME=", "ID_LIKE="):
        for key, value in assignments(match.group()).items():
            fields.setdefault(key, value)
            starts.setdefault(key, match.start())
    name, version = fields.get("ID", ""), fields.get("VERSION_ID", "")
    release = named(fields) if _ID.fullmatch(name) and _VERSION_ID.fullmatch(version) else None
    if release is not None:
        yield Fact("system.os", release, starts["ID"])
