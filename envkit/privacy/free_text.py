"""Finds what identifies in a line of free text: a log, a tool's words, a command line.

Each pattern is bounded or takes all that it has looked at, so that the time grows with the text. What one pattern has
masked is a single mark until the end, so that no other one looks at a pseudonym.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from envkit._startup.regex import regex
from envkit.privacy.columns import Cell, cells
from envkit.privacy.labeled import LABELS
from envkit.privacy.name_places import LIKELY_PLACES, PLACES
from envkit.privacy.places import Places, looks_like_host
from envkit.privacy.pseudonyms import FIRST_MARK, Pseudonyms
from envkit.privacy.words import is_listed, is_public, software_words

_MARKS = 0xFFFE
_ALL_MARKS = f"{chr(FIRST_MARK)}-{chr(FIRST_MARK + _MARKS - 1)}"
_MARK = regex(f"[{_ALL_MARKS}]")
_HEX = "[0-9a-fA-F]"
UUID = regex(rf"{_HEX}{{8}}([-_]){_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{4}}\1{_HEX}{{12}}(?!{_HEX})")
_MAC = regex(
    rf"(?:(?<![\w:-])|(?<=[g-z]\d:)|(?<=[g-z]\d\d:)){_HEX}{{2}}([:-])(?:{_HEX}{{2}}\1){{4,30}}{_HEX}{{2}}(?![\w:]|-\w)"
)
_DOTTED_MAC = regex(r"(?<![\w.])(?=[\d.]{0,12}[a-fA-F])(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}(?![\w.])")
_SHORT_UUID = regex(r"\b((?:GPU|MIG)-)([0-9a-f]{8})(?![\w-])")
_VOLUME_ID = regex(r"(\bUUID=[\"']?)([0-9A-F]{4}-[0-9A-F]{4})\b")
_GUID = regex(rf"(?<![\w:])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![\w:])")
_GUID_NUMBER = regex(rf"(?i)(guid\W{{1,40}}0x)({_HEX}{{16}})\b")
_ID = regex(
    r"(?<!sha256:)(?<!sha512:)(?<!\w)(?:[0-9a-f]{64}(?!(?:  | \*)[\w./+-]{1,200}\.[A-Za-z])|[0-9a-f]{32}"
    r"|(?<!-)(?=[a-f]{0,11}\d)(?=\d{0,11}[a-f])[0-9a-f]{12})(?!\w)"
)
_EFI_VARIABLES = "8be4df61-93ca-11d2-aa0d-00e098032b8c"  # the same on every machine: it names a file below /sys
_SID = regex(r"\bS-1-5-21(?:-\d{1,10}){3,4}\b")
_SERIAL = regex(
    r"(?i)((?<![a-z])(?:serial|asset tag|service tag|s/n)(?:[ _-]?(?:number|num|no\.?|short))?(?![a-z])\W{0,40}?)"
    r"(?=[A-Z-]{0,30}\d)([A-Z0-9][A-Z0-9-]{4,40})"
)
_SERIAL_CELL = regex(r"((?:^|, ))([01]\d{12})(?=,|$)")  # of boards, in a table of `nvidia-smi --query-gpu`
_PRODUCT_ID = regex(r"\b\d{5}-\d{5}-\d{5}-[A-Z0-9]{5}\b")  # of an installation of Windows
_URL = regex(r"(?<![a-z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s\"'<>`|,;()\[\]{}]*")
_AT = regex(r"(?<![\w.+@%/-])([\w.+%-]{1,64})@([A-Za-z0-9][\w.-]{0,100})(?::(~?[\w.-]{0,80}/[\w./-]*))?")
_WRITTEN_AT = regex(r"(?<![\w.+-])[\w.+-]{1,64}(?=(?:%40| ?[(\[]at[)\]] ?)[A-Za-z0-9][\w.-]{0,80}\.[a-z]{2})")
_ENCODED_HOME = regex(r"(?i)(%2f(?:home|users)%2f)([^%\s]{1,40})")
_HOST_OPTION = regex(
    r"((?:\b(?:mpirun|mpiexec|horovodrun|srun|salloc|sbatch|sinfo|squeue|scontrol|pdsh|clush|torchrun|deepspeed)\b|#SBATCH\b)"
    r"[^\n]{0,200}? (?:-H|-w|--?hosts?|--nodelist|--exclude|--include|--rdzv[-_]endpoint|--master[-_]addr)[ =]{1,2})"
    r"([A-Za-z][\w.\[\],:-]{0,400})"
)
_LISTED_HOST = regex(r"(?<![\w.-])([A-Za-z][\w.-]{0,80})((?:\[[\d,-]{1,200}\])?(?::\d{1,6})?)(?=,|$)")
_WINDOWS_HOME = regex(
    r"(?i)([a-z]:[\\/]{1,2}(?:users|documents and settings)[\\/]{1,2})([^\\/:*?\"<>|\n]{1,40})(?=[\\/])"
)
_WINDOWS = regex(r"(?<!\w)[A-Za-z]:[\\/][^\s\"'<>|*?;,]*")
_SHARE = regex(rf"(?<![\w\\])\\\\([\w.${_ALL_MARKS}-]{{1,80}})(\\[^\s\"'<>|*?;,]*)")
_PATH = regex(r"(?<![\w./~-])(?:~[\w.-]{0,40}|\.{1,2})?/[^\s\"'<>`|,;()\[\]{}=*$]*")
_IPV4 = regex(r"(?<![\w.+-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w+]|[.-]\w)")
_IPV6 = regex(rf"(?<![\w:.{_ALL_MARKS}])(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![\w:]|\.\d)")
_POD = regex(r"\b[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){0,8}-(?=[a-z]{0,9}\d)[a-f0-9]{7,10}-[a-z0-9]{5}\b")
_NAMED = regex(
    r"((?i:\b(?:pod|namespace|job name|account|partition|nodelist|tenant|organi[sz]ation|cluster|distro)\b"
    r"(?:/|[\"']?\s?[=:]\s{0,20}[\"']?|\s[\"']))|\bpods? \"|\bWSL_DISTRO_NAME=)([A-Za-z][\w.\[\]-]{1,80})"
)
_SLURM = regex(r"(\bSLURM_\w{1,40}=[\"']?)([A-Za-z][\w.\[\],-]{1,80})")
_NODE_AND_PORT = regex(
    r"((?i:\b(?:to|from|at|on|host|node|server|peer|worker|master|address))[ =:]{1,2}[\"'\[(]?)"
    r"([A-Za-z][\w.-]{1,80})(?=\]?:\d{2,5}\b)"
)
_PORT_AND_PATH = regex(  # of a registry
    r"(?<![\w.+@%/:-])[A-Za-z][\w.-]{1,80}:\d{2,5}/(?=[A-Za-z])[\w./-]{1,200}"
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
_Step = tuple[tuple[str, ...], re.Pattern[str], _Mask]  # what each line that it changes holds one of


class FreeText:
    """Masks lines of text, with the pseudonyms and places of one masker."""

    def __init__(self, pseudonyms: Pseudonyms, places: Places) -> None:
        self._of = pseudonyms.of
        self._places = places
        self._marked: list[str] = []
        steps: tuple[tuple[re.Pattern[str], _Mask], ...] = (
            (UUID, self._whole(self._uuid)),
            (_URL, self._all(places.url)),
            (_AT, self._whole(self._account_at)),
            (_WRITTEN_AT, self._all(places.user)),
            (_HOST_OPTION, self._second(partial(_LISTED_HOST.sub, self._listed_host))),
            (_SID, self._all(partial(self._of, "sid"))),
            (_SERIAL, self._second(partial(self._of, "serial"))),
            (_SERIAL_CELL, self._second(partial(self._of, "serial"))),
            (_PRODUCT_ID, self._all(partial(self._of, "serial"))),
            (_MAC, self._whole(self._mac)),
            (_DOTTED_MAC, self._all(lambda text: self._of("mac", text).replace(":", ""))),
            (_SHORT_UUID, self._second(lambda text: self._of("uuid", text)[: len(text)])),
            (_VOLUME_ID, self._second(lambda text: self._of("hex", text)[-9:])),
            (_GUID_NUMBER, self._second(lambda number: self._of("hex", number).rjust(len(number), "0"))),
            (_GUID, self._all(partial(self._of, "guid"))),
            (_ID, self._all(self._id)),
            (_NAMED, self._second(lambda name: name if is_public(name) else self._of("name", name))),
            (_SLURM, self._second(partial(self._of, "name"))),
            (_PORT_AND_PATH, self._all(places.without_scheme)),
            (_NODE_AND_PORT, self._second(lambda name: name if is_public(name) else places.host(name))),
            (_DEVICE_SETTING, self._second(places.setting)),
            (_POD, self._all(partial(self._of, "name"))),
            (_DEVICE, self._all(places.device)),
            (_ENCODED_HOME, self._second(places.user)),
            (_WINDOWS_HOME, self._second(places.user)),
            (_SHARE, self._whole(lambda match: rf"\\{places.host(match.group(1))}{places.path(match.group(2))}")),
            (_WINDOWS, self._all(places.path)),
            (_PATH, self._all(places.path)),
            (_IPV4, self._whole(self._ipv4)),
            (_IPV6, self._whole(self._ipv6)),
            (_WORD, self._all(self._word)),
        )
        places_of_names = ((True, PLACES), (False, LIKELY_PLACES))
        self._steps: tuple[_Step, ...] = (
            *(
                (place.needles, regex(place.pattern), partial(self._named, certain))
                for certain, table in places_of_names
                for place in table.values()
            ),
            *(
                (label.needles, regex(label.pattern), self._second(partial(self._labeled, label.kind)))
                for label in LABELS.values()
            ),
            *((("",), pattern, mask) for pattern, mask in steps),
        )

    def text(self, text: str) -> str:
        """The text with everything identifying replaced."""
        if "\n" not in text:
            return self._line(text, (), self._steps)
        steps = [step for step in self._steps if any(needle in text for needle in step[0])]
        return "\n".join([self._line(line, named, steps) for line, named in cells(text.split("\n"))])

    def _line(self, line: str, named: Sequence[Cell], steps: Sequence[_Step]) -> str:
        """The line with what these steps find replaced; `named` are the cells of a table that hold names."""
        self._marked = []
        line = _MARK.sub("\ufffd", line)
        for cell in reversed(named):
            name = line[cell.start : cell.end]
            line = line[: cell.start] + self._hidden(name, self._in_cell(cell.kind, name)) + line[cell.end :]
        for needles, pattern, mask in steps:
            for needle in needles:  # a plain loop: most of the time of a mask goes here
                if needle in line:
                    line = pattern.sub(mask, line)
                    break
        return self._shown(line)

    def _hidden(self, found: str, shown: str) -> str:
        """What was found as it is, or a character that stands for its mask until the end of the line.

        Only what is masked is marked: the patterns that come later look at all the rest, also beside it in a match.
        """
        if shown == found or len(self._marked) >= _MARKS:
            return shown
        self._marked.append(self._shown(shown))
        return chr(FIRST_MARK + len(self._marked) - 1)

    def _whole(self, mask: _Mask) -> _Mask:
        return lambda match: self._hidden(match.group(), mask(match))

    def _all(self, mask: Callable[[str], str]) -> _Mask:
        return lambda match: self._hidden(match.group(), mask(match.group()))

    def _second(self, mask: Callable[[str], str]) -> _Mask:
        return lambda match: f"{match.group(1)}{self._hidden(match.group(2), mask(match.group(2)))}"

    def _shown(self, marked: str) -> str:
        return _MARK.sub(lambda match: self._marked[ord(match.group()) - FIRST_MARK], marked)

    def _named(self, certain: bool, match: re.Match[str]) -> str:
        """A place where names stand, with them masked; a word that means something else only where it is `certain`."""
        shown = match.group()
        found = [kind for kind, name in match.groupdict().items() if name]
        for kind in sorted(found, key=match.start, reverse=True):
            name = match[kind]
            if certain or self._may_be_name(kind, name):
                start, end = (at - match.start() for at in match.span(kind))
                shown = shown[:start] + self._hidden(name, self._certain_name(kind, name)) + shown[end:]
        return shown

    def _in_cell(self, kind: str, name: str) -> str:
        """A name below a header that says so; words like `root` and `gpu` are no names there either."""
        if kind == "serial":
            return self._of("serial", name)
        if kind == "name" and "/" in name:
            return (
                self._places.without_scheme(name)
                if looks_like_host(name.partition("/")[0])
                else self._places.path(name)
            )
        if not self._may_be_name("group" if kind == "name" else kind, name):
            return name
        return self._labeled("name", name) if kind == "name" or "[" in name else self._certain_name(kind, name)

    def _may_be_name(self, kind: str, name: str) -> bool:
        """True for what is no public word, and for hosts and users called after one with a number: `gpu017`."""
        is_numbered = kind != "group" and any(map(str.isdigit, name)) and not is_listed(name)
        return is_numbered or not is_public(name)

    def _certain_name(self, kind: str, name: str) -> str:
        if kind != "host":
            return self._places.user(name)
        return name if name.lower() in _HERE else self._of("host", name)

    def _labeled(self, kind: str, found: str) -> str:
        """What stands behind a label: a name or a person may be a public one, a number is cut to its length."""
        if kind in ("name", "user"):
            end = " " if found.endswith(" ") else ""
            return found if is_public(found) else self._of(kind, found.rstrip()) + end
        shown = self._of(kind, found)
        return shown[-len(found) :] if kind == "hex" else shown

    def _listed_host(self, match: re.Match[str]) -> str:
        """A host of a list, which may stand for several: `gpu[01-04]:8`."""
        return f"{self._places.host(match.group(1))}{match.group(2)}"

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


def _speaks_of_versions(before: str) -> bool:
    if _VERSION_BEFORE.search(before):
        return True
    last = _LAST_WORD.search(before)
    words = set(_LETTERS.findall(last.group(1).lower())) if last else set()
    return bool(words) and words <= software_words() | _VERSIONED and words.isdisjoint(_NOT_VERSIONED)
