"""A pasted text made plain: no color codes, quote marks, fences or carriage returns; line numbers are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT, TYPED
from envkit.ingest.text import Text

_LONGEST_LINE = 8000  # patterns may look this far within one line; longer lines are cut into several
_ANSI = regex(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = "".join(map(chr, (*range(0x09), *range(0x0B, 0x20), 0x7F)))
_TAG = regex(r"</?(?:pre|code|details|summary|p|br|div|span|strong|tt|samp|kbd|blockquote)(?:\s[^<>\n]{0,120})?/?>")
_QUOTE = regex(r"^[ \t]{0,3}(?:>(?!>>(?: |$))[ \t]?)+")
_TYPED = regex(TYPED)
_IS_CODE = regex(r"[(=!]|<-|> which ")
_MOSTLY = 0.6  # of the lines with such a mark, in a session of MATLAB or R
_FENCE = regex(r"^[ \t]*(?:```|~~~)[\w+.{}=\t -]{0,60}$")
_TIMESTAMP = regex(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z (?:stdout |stderr )?(?:[FP] )?")
_COMPOSE = regex(r"^[A-Za-z0-9][\w.-]{0,60}[-_]\d{1,4} {1,30}\| ")  # docker compose logs: `web-1  | …`
_PREFIXES = ((">", _QUOTE), ("Z ", _TIMESTAMP), ("| ", _COMPOSE), ("```", _FENCE), ("~~~", _FENCE))
_PROGRAMS = {_COMPOSE: "compose"}  # who puts the prefix there
_SERVICE = regex(r"^(?P<name>[a-z0-9][\w.-]{1,60}) {2,30}\| ")  # the same of a container that was given its name
_OFTEN = 4  # lines of a service: a table names each thing once
_PLAIN = (
    ("\u2018", "'"),
    ("\u2019", "'"),
    ("\u201c", '"'),
    ("\u201d", '"'),
    ("\u00a0", " "),
    ("\u2502", "|"),
    ("\u2026", "..."),
)
_ENTITIES = (("&gt;", ">"), ("&lt;", "<"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))
_TERMINAL_WIDTHS = frozenset({72, 76, 78, 79, 80, 90, 96, 100, 110, 120, 132, 140, 150, 160, 180, 200})


def clean(raw: str) -> Text:
    """The text without what terminals, chats, mail and issue pages put around it."""
    text = _without_returns(raw)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    for letter in _CONTROL:
        if letter in text:
            text = text.replace(letter, " ")
    for written, plain in (*(() if text.isascii() else _PLAIN), *(_ENTITIES if "&" in text else ())):
        text = text.replace(written, plain)
    if "<" in text:
        text = _TAG.sub("", text)
    lines = text.split("\n")
    programs: list[str] = []
    for mark, prefix in _PREFIXES:
        if mark in text:
            typed = _typed(lines) if prefix is _QUOTE else frozenset[int]()
            plain = [
                line[found.end() :] if mark in line and index not in typed and (found := prefix.match(line)) else line
                for index, line in enumerate(lines)
            ]
            if prefix in _PROGRAMS and plain != lines:
                programs.append(_PROGRAMS[prefix])
            lines = plain
    if "  | " in text and (plain := _without_services(lines)) != lines:
        programs.append(_PROGRAMS[_COMPOSE])
        lines = plain
    return replace(_numbered([line.rstrip() for line in lines]), programs=tuple(programs))


def _typed(lines: list[str]) -> frozenset[int]:
    """The indices of lines that were typed into MATLAB or R: most marked lines were, and answers have no mark."""
    marked = [index for index, line in enumerate(lines) if line.startswith(">")]
    typed = [index for index in marked if _TYPED.match(lines[index])]
    if not typed or len(typed) < _MOSTLY * len(marked):
        return frozenset()
    code = any(_IS_CODE.search(lines[index]) for index in typed)
    answered = any(index + 1 < len(lines) and not lines[index + 1].startswith(">") for index in typed)
    return frozenset(typed) if code and answered else frozenset()


def _without_services(lines: list[str]) -> list[str]:
    """The lines without the names of services that write several of them."""
    found = [_SERVICE.match(line) if "  | " in line else None for line in lines]
    times = Counter(match["name"] for match in found if match)
    return [
        line[match.end() :] if match and times[match["name"]] >= _OFTEN else line
        for line, match in zip(lines, found, strict=True)
    ]


def _without_returns(raw: str) -> str:
    """Of a line that was written over, as progress bars do, what follows the last carriage return."""
    text = raw.replace("\r\n", "\n")
    if "\r" not in text:
        return text
    if "\n" not in text:
        return text.replace("\r", "\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def together(named: Sequence[tuple[str, Text]]) -> Text:
    """Several texts about one machine as one, each with the name that its lines are told by."""
    if len(named) == 1:
        ((name, only),) = named
        return replace(only, files=((1, name),))
    lines: list[str] = []
    numbers: list[int] = []
    files = []
    for name, text in named:
        before = numbers[-1] if numbers else 0
        files.append((before + 1, name))
        lines += text.lines
        numbers += (before + number for number in text.numbers)
    programs = dict.fromkeys(program for _, text in named for program in text.programs)
    return Text(tuple(lines), tuple(numbers), tuple(files), tuple(programs))


def _numbered(lines: list[str]) -> Text:
    if max(map(len, lines), default=0) <= _LONGEST_LINE:
        return Text(tuple(lines), range(1, len(lines) + 1))
    pieces = [
        (line[start : start + _LONGEST_LINE], number)
        for number, line in enumerate(lines, 1)
        for start in range(0, max(len(line), 1), _LONGEST_LINE)
    ]
    return Text(tuple(piece for piece, _ in pieces), tuple(number for _, number in pieces))


def rejoined(text: Text) -> Text | None:
    """The text with lines that a terminal broke at its right edge put together again, None where there are none.

    A line was broken when it fills exactly the longest width found, that width is one of a usual terminal, and it
    does not end a table row.
    """
    width = max(map(len, text.lines), default=0)
    if width not in _TERMINAL_WIDTHS:
        return None
    pieces: list[list[str]] = []
    numbers: list[int] = []
    broken = False
    for line, number in zip(text.lines, text.numbers, strict=True):
        if broken and len(pieces[-1]) * width < _LONGEST_LINE and not PROMPT.match(line):
            pieces[-1].append(line)
        else:
            pieces.append([line])
            numbers.append(number)
        broken = len(line) == width and not line.endswith(("|", "+"))
    return Text(tuple(map("".join, pieces)), tuple(numbers), text.files) if len(pieces) < len(text.lines) else None
