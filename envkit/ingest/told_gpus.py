"""GPUs as people name them: `my 3080 Ti`, `a 1660 Super`, `4x A100`, `2060 RTX`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, Item
from envkit.ingest.text import Text
from envkit.model import MachineKind, PciGpu

_GEFORCE = regex(
    r"(?<![\w./-])(?<!Radeon )(?<!radeon )(?<!RADEON )(?:NVIDIA |Nvidia |nvidia )?(?:GeForce |Geforce |geforce )?"
    r"(?P<line>RTX|GTX|GT|rtx|gtx|Rtx|Gtx)[ -]?(?!\d000 ?[Ss]eries)(?!(?<=GT)2[0-9]{2}\b)"
    r"(?!(?:6[4-9][05]|7[6-9]0|90[67])0(?! ?GT))"  # AMD's numbers: an `RTX 6800 XT` is an RX
    r"(?P<number>\d{3,4})(?![\w.]\d|\d)[ -]?(?P<suffix>(?:Ti|TI|ti)(?:[ -]?(?:SUPER|Super|super))?|SUPER|Super"
    r"|super|S\b)?(?P<mobile>(?<=\d)MX?\b)?"
    r"(?P<laptop>[ -](?:Laptop|laptop|Mobile|mobile|Max-Q))?(?![A-Za-z0-9])"
)
_BARE = regex(
    r"(?:\b(?:my|a|an|one|our|the|have|with|card|nvidia)(?: new| single| mobile)? |显卡(?:是|为|:|：)? ?)"
    r"(?P<number>(?:[2-5]0[5-9]|10[5-8]|16[56])0)"
    r"(?: ?(?P<suffix>Ti Super|Ti|Super))?(?P<laptop>[ -](?:laptop|mobile|max-q))?"
    r"(?![\w%]|[.,:]\d|-\d| (?:[kmg]i?b|ms|s|fps|px|steps|images|samples|tokens|lines|files|times|iterations)\b)",
    re.IGNORECASE,
)
_FIRST = regex(
    r"^(?P<number>(?:[2-5]0[5-9]|10[5-8]|16[56])0) ?(?P<suffix>Ti Super|Ti|Super)?(?P<laptop>[ -](?:laptop|mobile))?"
    r"(?<!\d0)(?=[,;.):]|$)",
    re.IGNORECASE | re.MULTILINE,
)  # a line that begins with it, and with what makes it one
_WITH_SUFFIX = regex(  # `Windows 10, 1660 Super`: the suffix makes it one
    r"(?<![\w./:-])(?P<number>(?:[2-5]0[5-9]|10[5-8]|16[56])0) ?(?P<suffix>Ti Super|Ti|Super)"
    r"(?P<laptop>[ -](?:laptop|mobile))?\b",
    re.IGNORECASE,
)
_OF_MAKER = regex(  # `Zotac 5070 12 GB`, `MSI Gaming X 3060 Ti`
    r"\b(?:Zotac|MSI|Asus|Gigabyte|EVGA|PNY|Palit|Gainward|Inno3D|KFA2|Galax|Colorful|Manli) "
    r"(?:[a-z][\w-]{0,12} ){0,3}?"
    r"(?P<number>(?:[2-5]0[5-9]|10[5-8]|16[56])0) ?(?P<suffix>Ti Super|Ti|Super)?"
    r"(?P<laptop>[ -](?:laptop|mobile))?(?![\w%]|[.:]\d|-\d)",
    re.IGNORECASE,
)
_IN_A_LIST = regex(  # `Win 11, 3060, 32 GB RAM`, `2060 RTX`, `3080 (RTX)`, `3090 24GB`, `2x 4090`
    r"(?:(?<=, )|(?<=\()|(?<=\d x )|(?<=\dx )|(?<=[Gg][Pp][Uu]: )|(?<=[Cc]ard: ))"
    r"(?P<number>(?:[2-5]0[5-9]|10[5-8]|16[56])0)"
    r"(?=[,)]|s\b| ?(?:\d{1,2} ?GB?\b|RTX\b|\(RTX\)|on (?:Windows|Linux|Ubuntu)))"
    r"|(?<![\w./:-])(?P<before>(?:[2-5]0[5-9]|10[5-8]|16[56])0) ?\(?(?:RTX|GTX)\b",
)
_FIRST_GENERATIONS = regex(  # before the GTX: `GeForce 210`, `GeForce 9800 GT`
    r"\b(?:GeForce|geforce|Geforce) (?P<name>(?:[23]\d\d|[6-9]\d00)(?: ?(?:M|GS|GT|GTS|GTX|GX2)\b)?)(?![\w.]?\d)"
)
_MOBILE = regex(r"(?<![\w./-])(?:GeForce |Geforce |geforce )?(?P<name>\d{3}MX|MX ?\d{3})\b")
_SERVER = regex(
    r"(?<![\w./:-])(?:NVIDIA |Nvidia |nvidia )?(?:Tesla |tesla )?(?P<name>[VPM]100S?|[AHB][12]00|GH200|GB200|H"
    r"20|H800|A800"
    r"|L40S?|L20|A10G|A40|A30|A16|K[248]0(?:Xm|[mctx])?|M[46]0|P40|RTX A\d{4}|A[456][05]00)(?:s\b)?(?![\w.-]?\d)"
    r"(?![A-Za-z/])"
)
_SMALL = regex(
    r"\b(?:NVIDIA|Nvidia|nvidia|Tesla|tesla) (?P<name>(?:[TPLKCM]\d{1,4}(?:Xm|[mcx])?|A\d{1,2}))\b(?![.:-]\d)"
)
_WORKSTATION = regex(
    r"\b(?P<name>Quadro (?:RTX |GV|GP|K|M|P|T)?\d{2,4}\w?|RTX PRO \d{4}|RTX \d{4} Ada|TITAN (?:RTX|Xp|X|V)|Tit"
    r"an (?:RTX|Xp|X|V))\b"
)
_SERIES = regex(
    r"(?<![\w.])(?:(?:RTX|GTX)[ -]?)?(?P<series>[1-5]0)(?:xx|XX|[ -]?(?:[Ss]eries|系|er-?Serie|シリーズ))"
    r"(?![A-Za-z0-9])"
)
_JETSON = regex(
    r"\bJetson[ -](?:AGX[ -])?(?:Orin|Xavier|Nano|TX[12]|Thor)(?: (?:Orin|Xavier|Nano|NX|AGX|Super))?\b"
    r"|\bOrin (?:Nano|NX|AGX)\b|\bAGX (?:Orin|Xavier)\b|\bXavier NX\b|\bJetPack [3-7](?:\.\d)?\b",
    re.IGNORECASE,
)
_GPU_WORDS = ("RTX", "GTX", "GT", "rtx", "gtx", "Rtx", "Gtx")
_BARE_WORDS = ("050", "060", "070", "080", "090", "1650", "1660")
_SERVER_WORDS = (
    *("100", "200", "H20", "H800", "A800", "L40", "L20", "A10G", "A40", "A30", "A16", "RTX A"),
    *("K20", "K40", "K80", "M60", "M40", "P40", "A4", "A5", "A6"),
)


Stated = Callable[..., Iterator[re.Match[str]]]  # the matches of a pattern in a text that their sentences state


def told_gpus(text: Text, stated: Stated) -> Iterator[Clue]:
    """The GPUs that sentences name, and a Jetson; `stated` gives the matches that count."""
    yield from _geforces(text, stated)
    for pattern, needles in (
        (_MOBILE, ("MX",)),
        (_SERVER, _SERVER_WORDS),
        (_SMALL, ("NVIDIA", "Nvidia", "nvidia", "Tesla", "tesla")),
        (_WORKSTATION, ("Quadro", "RTX PRO", "Ada", "TITAN", "Titan")),
    ):
        for match in stated(text, pattern, *needles):
            yield _gpu(match["name"], match)
    for match in stated(text, _SERIES, "0xx", "0XX", "eries", "系", "Serie", "シリーズ"):
        yield _gpu(f"GeForce {match['series']} series", match)
    for match in stated(
        text, _JETSON, "Jetson", "jetson", "Orin", "orin", "Xavier", "xavier", "JetPack", "jetpack", "Jetpack"
    ):
        yield Fact("system.machine_kind", MachineKind.JETSON, match.start())


def _geforces(text: Text, stated: Stated) -> Iterator[Clue]:
    for match in stated(text, _GEFORCE, *_GPU_WORDS):
        yield _geforce(match["line"].upper(), match)
    for pattern in (_BARE, _WITH_SUFFIX, _FIRST, _OF_MAKER):
        for match in stated(text, pattern, *_BARE_WORDS):
            yield _geforce("GTX" if match["number"][0] == "1" else "RTX", match)
    for match in stated(text, _IN_A_LIST, *_BARE_WORDS):
        number = match["number"] or match["before"]
        yield _gpu(f"GeForce {'GTX' if number[0] == '1' else 'RTX'} {number}", match)
    for match in stated(text, _FIRST_GENERATIONS, "orce "):
        yield _gpu(f"GeForce {match['name']}", match)


def _geforce(line: str, match: re.Match[str]) -> Item:
    suffix = f" {match['suffix']}".upper().replace("TI", "Ti").replace("-", " ") if match["suffix"] else ""
    laptop = " Laptop GPU" if match["laptop"] else ""
    mobile = match.groupdict().get("mobile") or ""  # `GT 520M`: part of the number
    return _gpu(f"GeForce {line} {match['number']}{mobile}{suffix}{laptop}", match)


def _gpu(name: str, match: re.Match[str]) -> Item:
    plain = " ".join(name.split())
    return Item(
        "pci_gpus", plain.lower().replace("geforce ", ""), PciGpu("", "", driver=None, name=plain), match.start()
    )
