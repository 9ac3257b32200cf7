"""Finds what identifies in a line of free text: a log, a tool's words, a command line.

Each pattern is bounded or takes all that it has looked at, so that the time grows with the text. What one pattern has
masked is a single mark until the end, so that no other one looks at a pseudonym.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from envkit._startup.regex import regex
from envkit.privacy.names import LIKELY_PLACES, PLACES
from envkit.privacy.places import Places, looks_like_host
from envkit.privacy.pseudonyms import Pseudonyms
from envkit.privacy.words import is_public, software_words

_FIRST_MARK, _MARKS = 0xF0000, 0xFFFE  # characters of a private plane: letters to no pattern
_ALL_MARKS = f"{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + _MARKS - 1)}"
_MARK = regex(f"[{_ALL_MARKS}]")
_HEX = "[0-9a-fA-F]"
UUID = regex(rf"{_HEX}{{8}}([-_]){_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{12}}(?!{_HEX})")
_MAC = regex(rf"(?<![\w:-]){_HEX}{{2}}([:-])(?:{_HEX}{{2}}\1){{4,30}}{_HEX}{{2}}(?![\w:]|-\w)")
_GUID = regex(rf"(?<![\w:])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![\w:])")
_GUID_NUMBER = regex(rf"(?i)(guid\W{{1,40}}0x)({_HEX}{{16}})\b")
_ID = regex(
    r"(?<!sha256:)(?<!sha512:)(?<!\w)(?:[0-9a-f]{64}|[0-9a-f]{32}"
    r"|(?<!-)(?=[a-f]{0,11}\d)(?=\d{0,11}[a-f])[0-9a-f]{12})(?!\w)"
)
_EFI_VARIABLES = "8be4df61-93ca-11d2-aa0d-00e098032b8c"  # the same on every machine: it names a file below /sys
_SID = regex(r"\bS-1-5-21(?:-\d{1,10}){3,4}\b")
_SERIAL = regex(
    r"(?i)(\b(?:serial|asset tag|service tag)(?:[ _-]?(?:number|num|no\.?))?\b\W{0,40}?)"
    r"(?=[A-Z-]{0,30}\d)([A-Z0-9][A-Z0-9-]{4,40})"
)
_URL = regex(r"(?<![a-z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s\"'<>`|,;()\[\]{}]*")
_AT = regex(r"(?<![\w.+@%/-])([\w.+%-]{1,64})@([A-Za-z0-9][\w.-]{0,100})(?::(~?[\w.-]{0,80}/[\w./-]*))?")
_WINDOWS_HOME = regex(
    r"(?i)([a-z]:[\\/]{1,2}(?:users|documents and settings)[\\/]{1,2})([^\\/:*?\"<>|\n]{1,40})(?=[\\/])"
)
_WINDOWS = regex(r"(?<!\w)[A-Za-z]:[\\/][^\s\"'<>|*?;,]*")
_SHARE = regex(r"(?<![\w\\])\\\\([\w.-]{1,80})(\\[^\s\"'<>|*?;,]*)")
_PATH = regex(r"(?<![\w./~-])(?:~[\w.-]{0,40}|\.{1,2})?/[^\s\"'<>`|,;()\[\]{}=*$]*")
_IPV4 = regex(r"(?<![\w.+-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w+]|[.-]\w)")
_IPV6 = regex(rf"(?<![\w:.{_ALL_MARKS}])(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![\w:]|\.\d)")
_POD = regex(r"\b[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){0,8}-(?=[a-z]{0,9}\d)[a-f0-9]{7,10}-[a-z0-9]{5}\b")
_NAMED = regex(
    r"((?i:\b(?:pod|namespace|job name|account|partition|nodelist|tenant|organi[sz]ation|cluster|distro)\b"
    r"(?:/|[\"']?\s?[=:]\s?[\"']?|\s[\"']))|\bpods? \"|\bWSL_DISTRO_NAME=)([A-Za-z][\w.\[\]-]{1,80})"
)
_SLURM = regex(r"(\bSLURM_\w{1,40}=[\"']?)([A-Za-z][\w.\[\],-]{1,80})")
_NODE_AND_PORT = regex(
    r"((?i:\b(?:to|from|at|on|host|node|server|peer|worker|master|address))[ =:]{1,2}[\"'\[(]?)"
    r"([A-Za-z][\w.-]{1,80})(?=\]?:\d{2,5}\b)"
)
_DEVICE_SETTING = regex(r"(\b(?:\w{1,40}_IFNAME|NCCL_IB_HCA)[\"']?(?:=|: ?)[\"']?)([\w.,:^=@-]{1,200})")
_DEVICE = regex(r"\b(?:enx|wlx)[0-9a-f]{12}\b|\b(?:veth|br-|cali)[0-9a-f]{7,12}\b")
_WORD = regex(r"[A-Za-z0-9_][\w./+%-]*")
_OF_A_PERSON = (".py", ".ipynb", ".sh", ".sif", ".pt", ".pth", ".ckpt", ".safetensors", ".yaml", ".yml", ".whl")
_VERSION_BEFORE = regex(
    r"(?:\b(?:version|release|build|driver|ver|rev|revision|v)|[=<>!~]=)[\"'\s:=,(.]{0,4}$", re.IGNORECASE
)
_LAST_WORD = regex(r"(?<![\w.+-])([\w.+-]{1,80})[\"'\s:=,(\[|]{0,40}$")
_LETTERS = regex(r"[a-z]+")
_VERSIONED = frozenset({"opencv", "python", "headless", "contrib"})
_NOT_VERSIONED = frozenset({"docker", "host", "dev", "post", "release", "plugin", "core", "lib", "so", "pip", "admin"})
_LOOK_BACK = 80
_SHORT_ID = 12
_HERE = ("localhost", "localhost.localdomain")
_Mask = Callable[[re.Match[str]], str]


class FreeText:
    """Masks lines of text, with the pseudonyms and places of one masker."""

    def __init__(self, pseudonyms: Pseudonyms, places: Places) -> None:
        self._of = pseudonyms.of
        self._places = places
        self._marked: list[str] = []
        steps: tuple[tuple[re.Pattern[str], _Mask], ...] = (
            (UUID, self._uuid),
            (_URL, _all(places.url)),
            (_AT, self._account_at),
            (_SID, _all(partial(self._of, "sid"))),
            (_SERIAL, _second(partial(self._of, "serial"))),
            (_MAC, self._mac),
            (_GUID_NUMBER, _second(lambda number: self._of("hex", number).rjust(len(number), "0"))),
            (_GUID, _all(partial(self._of, "guid"))),
            (_ID, _all(self._id)),
            (_NAMED, _second(lambda name: name if is_public(name) else self._of("name", name))),
            (_SLURM, _second(partial(self._of, "name"))),
            (_NODE_AND_PORT, _second(lambda name: name if is_public(name) else places.host(name))),
            (_DEVICE_SETTING, _second(places.setting)),
            (_POD, _all(partial(self._of, "name"))),
            (_DEVICE, _all(places.device)),
            (_WINDOWS_HOME, _second(places.user)),
            (_SHARE, lambda match: rf"\\{places.host(match.group(1))}{places.path(match.group(2))}"),
            (_WINDOWS, _all(places.path)),
            (_PATH, _all(places.path)),
            (_IPV4, self._ipv4),
            (_IPV6, self._ipv6),
            (_WORD, _all(self._word)),
        )
        certain = ((regex(pattern), partial(self._named, True)) for pattern in PLACES.values())
        likely = ((regex(pattern), partial(self._named, False)) for pattern in LIKELY_PLACES.values())
        self._steps: tuple[tuple[re.Pattern[str], _Mask], ...] = (*certain, *likely, *steps)

    def line(self, line: str) -> str:
        """The line with everything identifying replaced."""
        self._marked = []
        line = _MARK.sub("\ufffd", line)
        for pattern, mask in self._steps:
            line = pattern.sub(partial(self._marked_part, mask), line)
        return self._shown(line)

    def _marked_part(self, mask: _Mask, match: re.Match[str]) -> str:
        """The match as it is, or a character that stands for its mask until the end of the line.

        Only what is masked is marked: the patterns that come later look at all the rest.
        """
        found = match.group()
        shown = mask(match)
        if shown == found or len(self._marked) >= _MARKS:
            return shown
        self._marked.append(self._shown(shown))
        return chr(_FIRST_MARK + len(self._marked) - 1)

    def _shown(self, marked: str) -> str:
        return _MARK.sub(lambda match: self._marked[ord(match.group()) - _FIRST_MARK], marked)

    def _named(self, certain: bool, match: re.Match[str]) -> str:
        """A place where names stand, with them masked; a word that means something else only where it is `certain`."""
        shown = match.group()
        for kind in ("host", "user"):  # from the right: a user stands before the host
            name = match.groupdict().get(kind)
            if name and (certain or not is_public(name) or any(map(str.isdigit, name))):
                start, end = (at - match.start() for at in match.span(kind))
                shown = shown[:start] + self._certain_name(kind, name) + shown[end:]
        return shown

    def _certain_name(self, kind: str, name: str) -> str:
        if kind == "user":
            return self._places.user(name)
        return name if name.lower() in _HERE else self._of("host", name)

    def _uuid(self, match: re.Match[str]) -> str:
        if match.group().lower() == _EFI_VARIABLES:
            return match.group()
        separator = match.group(1)
        return self._of("uuid", match.group().replace("_", "-")).replace("-", separator)

    def _mac(self, match: re.Match[str]) -> str:
        separator = match.group(1)
        return self._of("mac", match.group().replace("-", ":")).replace(":", separator)

    def _id(self, text: str) -> str:
        """A container or machine id; a short one is the beginning of the long one, and stays so."""
        return self._of("hex", text[:_SHORT_ID]).ljust(len(text), "0")

    def _account_at(self, match: re.Match[str]) -> str:
        """`user@host` and mail addresses; a symbol with its version (`memcpy@GLIBC_2.14`) is neither."""
        name, place, path = match.groups()
        end = "." if place.endswith(".") else ""
        host = place.removesuffix(".")
        if "_" in host or host[0].isdigit() and not _IPV4.fullmatch(host):
            return match.group()
        shown = f"{self._places.account(name)}@{self._places.host(host)}"
        return f"{shown}:{self._places.path(path)}" if path else shown + end

    def _ipv4(self, match: re.Match[str]) -> str:
        """Four numbers after a word of software are a version."""
        before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
        return match.group() if _speaks_of_versions(before) else self._places.address(match.group())

    def _ipv6(self, match: re.Match[str]) -> str:
        """Clock times and PCI addresses have colons too, so the text must be a whole address."""
        from ipaddress import AddressValueError, IPv6Address

        try:
            address = IPv6Address(match.group())
        except AddressValueError:
            return match.group()
        return match.group() if address.is_loopback or address.is_unspecified else self._of("ipv6", str(address))

    def _word(self, text: str) -> str:
        """A word: a file that a person wrote, a host and what follows it, or a name that was learned."""
        if text.lower().endswith(_OF_A_PERSON):
            return self._places.path(text)
        if "/" in text and looks_like_host(text.partition("/")[0]):
            return self._places.without_scheme(text)
        return "/".join(self._places.word(part) for part in text.split("/"))


def _all(mask: Callable[[str], str]) -> _Mask:
    return lambda match: mask(match.group())


def _second(mask: Callable[[str], str]) -> _Mask:
    return lambda match: f"{match.group(1)}{mask(match.group(2))}"


def _speaks_of_versions(before: str) -> bool:
    if _VERSION_BEFORE.search(before):
        return True
    last = _LAST_WORD.search(before)
    words = set(_LETTERS.findall(last.group(1).lower())) if last else set()
    return bool(words) and words <= software_words() | _VERSIONED and words.isdisjoint(_NOT_VERSIONED)
