"""`/etc/os-release`, `lsb_release -a`, hostnamectl.

ID=ubuntu
VERSION_ID="22.04"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit.facts import MachineKind
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.releases import described, release
from envkit.ingest.text import Text
from envkit.regex import regex

_ID = regex(r"^ID=\"?(?P<id>[a-z][\w.-]{1,30})\"?$", re.MULTILINE)
_VERSION_ID = regex(r"^VERSION_ID=\"?(?P<version>\d[\w.]{0,20})\"?$", re.MULTILINE)
_PRETTY = regex(r"^PRETTY_NAME=\"?(?P<pretty>[^\"\n]{1,100})\"?$", re.MULTILINE)
_LIKE = regex(r"^ID_LIKE=\"?(?P<like>[a-z][\w. -]{1,60})\"?$", re.MULTILINE)
_WORDS = regex(
    r"^(?:Description:\s{1,20}| {0,12}Operating System: |OS Name: {1,30})(?P<words>[A-Z][^\n]{3,100})$", re.MULTILINE
)
_VIRTUAL = regex(r"^ {0,12}Virtualization: (?P<kind>\S{1,30})", re.MULTILINE)
_CONTAINERS = ("docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "rkt", "container-other", "openvz")


@reader("os-release")
def read(text: Text) -> Iterator[Clue]:
    """The distribution, and what hostnamectl says of the machine."""
    name, version = _ID.search(text.whole), _VERSION_ID.search(text.whole)
    if name and version:
        pretty, like = _PRETTY.search(text.whole), _LIKE.search(text.whole)
        related = tuple(like["like"].split()) if like else ()
        told = release(name["id"], version["version"], pretty["pretty"] if pretty else "", related)
        yield Fact("system.os", told, name.start())
    for match in text.matches(_WORDS, ":"):
        found = described(match["words"].removesuffix(" GNU/Linux"))
        if found is not None and not match["words"].startswith("Docker Desktop"):
            yield Fact("system.os", found, match.start())
    for match in text.matches(_VIRTUAL, "Virtualization: "):
        kind = match["kind"]
        if kind == "wsl":
            yield Fact("system.machine_kind", MachineKind.WSL2, match.start())
        elif kind != "none":
            container = kind in _CONTAINERS
            yield Fact("system.machine_kind", MachineKind.CONTAINER if container else MachineKind.VM, match.start())
            yield Fact("system.vendor", kind, match.start())
