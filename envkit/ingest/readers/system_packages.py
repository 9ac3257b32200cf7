"""`dpkg -l`, `apt list --installed`, `rpm -qa`, `pacman -Q`: system packages that have to do with GPUs.

ii  nvidia-driver-535    535.183.01-0ubuntu0.22.04.1    amd64    NVIDIA driver metapackage
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import SystemPackage

_NAME = (
    r"(?P<name>(?:lib)?(?:nvidia|cuda|cudnn\d?|nccl|xserver-xorg-video-nvidia|a?kmod-nvidia|linux-modules-nvidia|"
    r"linux-objects-nvidia)[\w.+-]{0,80}?)"
)
_DPKG = regex(
    r"^(?P<state>[iruph][ iUFHWtnc][ R]?) {1,4}"
    + _NAME
    + r"(?::\w{2,8})? {1,60}(?P<version>\d[\w.+~:-]{2,60}) {1,60}(?:amd64|arm64|i386|all)\b",
    re.MULTILINE,
)
_COLUMNS = regex(
    r"^(?P<state>ii|hi|rc|i[UFH]) " + _NAME + r"(?::\w{2,8})? (?P<version>\d[\w.+~:-]{2,60})$", re.MULTILINE
)  # the first three columns, as awk prints them
_APT = regex(
    r"^"
    + _NAME
    + r"/[\w.,-]{2,80} (?P<version>\d[\w.+~:-]{2,60}) (?:amd64|arm64|i386|all) \[(?P<state>installed[^\]\n]{0,60})\]$",
    re.MULTILINE,
)
_PACMAN = regex(
    r"^(?P<name>(?:lib32-)?nvidia(?:-[a-z0-9]{1,12}){0,4}) (?P<version>(?:\d:)?\d{3}\.[\d.]{2,12}-\d{1,4}(?:\.\d)?)$",
    re.MULTILINE,
)
_RPM = regex(r"^" + _NAME + r"-(?P<version>\d[\w.:+~]{0,30}-\d[\w.+~]{0,40})\.(?:x86_64|aarch64|noarch)$", re.MULTILINE)
_FROM_VENDOR = regex(
    r"^(?P<name>(?:a?kmod-|xorg-x11-drv-|lib)?nvidia[\w.+-]{0,60}?)-(?:\d:)?(?P<version>\d[\w.:+~]{0,30}-\d[\w.+~]{0,40})"
    r"\.(?:x86_64|aarch64|noarch) {1,8}(?P<origin>[A-Za-z][\w. -]{1,30}[\w])$",
    re.MULTILINE,
)
_DNF = regex(
    r"^(?P<name>(?:a?kmod-|xorg-x11-drv-|lib)?nvidia[\w.+-]{0,60}?)\.(?:x86_64|aarch64|noarch) {1,40}"
    r"(?P<version>(?:\d:)?\d[\w.:+~]{0,30}-\d[\w.+~]{0,40}) {1,40}@(?P<origin>[\w.+-]{2,40})$",
    re.MULTILINE,
)
_FABRIC_MANAGER = regex(r"nvidia-fabricmanager(?:-\d{3})?")
_NEEDLES = ("nvidia", "cuda", "cudnn", "nccl")
_STATES = {
    "ii": "installed",
    "rc": "config-files",
    "iU": "unpacked",
    "iF": "half-configured",
    "iH": "half-installed",
    "hi": "installed",
}


@reader("system packages")
def read(text: Text) -> Iterator[Clue]:
    """One package per line with its version and state."""
    for pattern in (_DPKG, _COLUMNS):
        for match in text.matches(pattern, *_NEEDLES):
            state = _STATES.get(match["state"].strip()[:2], match["state"].strip())
            yield _item(match, "dpkg", state)
            if state == "installed":
                yield from _fabric_manager(match)
    for match in text.matches(_APT, "[installed"):
        yield _item(match, "dpkg", "installed")
        yield from _fabric_manager(match)
    for match in text.matches(_PACMAN, "nvidia"):
        yield _item(match, "pacman", "installed")
    for match in text.matches(_RPM, *_NEEDLES):
        yield _item(match, "rpm", "installed")
    for pattern in (_FROM_VENDOR, _DNF):
        for match in text.matches(pattern, "nvidia"):
            yield _item(match, "rpm", "installed", match["origin"])


def _fabric_manager(match: re.Match[str]) -> Iterator[Fact]:
    """Its release, where the package is Fabric Manager's."""
    version = Version.find(match["version"]) if _FABRIC_MANAGER.fullmatch(match["name"]) else None
    if version is not None:
        yield Fact("driver.fabric_manager_version", version, match.start())


def _item(match: re.Match[str], manager: str, state: str, origin: str = "") -> Item:
    package = SystemPackage(match["name"], match["version"], manager, state, origin)
    return Item("packages", f"{match['name']} {match['version']}", package, match.start())
