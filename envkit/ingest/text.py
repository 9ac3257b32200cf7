"""A pasted text made plain: no colour codes, quote marks, fences or carriage returns; line numbers are kept."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from envkit.regex import regex

_LONGEST_LINE = 8000  # patterns may look this far within one line; longer lines are cut into several
_ANSI = regex(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = regex(r"[^\n]*\r(?=[^\n])")  # a progress bar shows what follows its last carriage return
_CONTROL = regex(r"[\x00-\x08\x0b-\x1f\x7f]")
_TAG = regex(r"</?(?:pre|code|details|summary|p|br|div|span|strong|tt|samp|kbd|blockquote)(?:\s[^<>\n]{0,120})?/?>")
_QUOTE = regex(r"^[ \t]{0,3}(?:>(?!>>(?:[ \n]|$))[ \t]?)+", re.MULTILINE)
_FENCE = regex(r"^[ \t]*(?:```|~~~)[ \t]*[\w+.{}= -]{0,40}$", re.MULTILINE)
_TIMESTAMP = regex(
    r"^(?:\ufeff)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z (?:stdout |stderr )?(?:[FP] )?", re.MULTILINE
)
_COMPOSE = regex(r"^[A-Za-z0-9][\w.-]{0,60}-\d+ {1,30}\| ", re.MULTILINE)  # docker compose logs: `web-1  | …`
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


@dataclass(frozen=True)
class Text:
    """Cleaned lines and, for each, its line number in the text as it was pasted (from 1).

    Several files can be one text: `files` then holds the number that the first line of each has, and its name.
    """

    lines: tuple[str, ...]
    numbers: tuple[int, ...] = field(repr=False)
    files: tuple[tuple[int, str], ...] = ((1, ""),)

    @cached_property
    def whole(self) -> str:
        """The lines joined by newlines: what most readers search."""
        return "\n".join(self.lines)

    @cached_property
    def _starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.lines:
            starts.append(position)
            position += len(line) + 1
        return starts

    def index(self, offset: int) -> int:
        """The index in `lines` of the line that holds `offset` of `whole`."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def place(self, offset: int) -> tuple[str, int]:
        """The name of the file, '' for a text without one, and the line number in it, of `offset` of `whole`."""
        number = self.numbers[self.index(offset)] if self.numbers else 1
        first, name = self.files[bisect_right(self.files, (number, "\U0010ffff")) - 1]
        return name, number - first + 1

    def line_at(self, offset: int) -> str:
        """The cleaned line that holds `offset` of `whole`."""
        return self.lines[self.index(offset)] if self.lines else ""

    @cached_property
    def _broken_width(self) -> int:
        """The width at which lines seem to have been cut in two: the widest one, where several fill it; else 0."""
        widest = max(map(len, self.lines), default=0)
        return widest if sum(len(line) == widest for line in self.lines) > 1 else 0

    def cut_off(self, offset: int, version: str) -> bool:
        """True when the line at `offset`, which ends in `version`, may lack its end.

        It may when it goes on in the next line, or when it is the last one, has no line end and a short version.
        """
        last = self.index(offset) == len(self.lines) - 1 and version.count(".") < 2
        return last or len(self.line_at(offset)) == self._broken_width

    def matches(self, pattern: re.Pattern[str], needle: str) -> Iterator[re.Match[str]]:
        """Every match of `pattern` in `whole`; nothing is searched when `needle` does not occur in it."""
        return pattern.finditer(self.whole) if needle in self.whole else iter(())


def clean(raw: str) -> Text:
    """The text without what terminals, chats, mail and issue pages put around it."""
    text = raw.replace("\r\n", "\n")
    text = text.replace("\r", "\n") if "\n" not in text else _OVERWRITTEN.sub("", text)
    text = _CONTROL.sub(" ", _ANSI.sub("", text).replace("\r", ""))
    for written, plain in (*(() if text.isascii() else _PLAIN), *(_ENTITIES if "&" in text else ())):
        text = text.replace(written, plain)
    if "<" in text:
        text = _TAG.sub("", text)
    for prefix in (_QUOTE, _TIMESTAMP, _COMPOSE, _FENCE):
        text = prefix.sub("", text)
    return _numbered([line.rstrip() for line in text.split("\n")])


def together(named: Sequence[tuple[str, Text]]) -> Text:
    """Several texts about one machine as one, each with the name that its lines are told by."""
    lines: list[str] = []
    numbers: list[int] = []
    files = []
    for name, text in named:
        before = numbers[-1] if numbers else 0
        files.append((before + 1, name))
        lines += text.lines
        numbers += (before + number for number in text.numbers)
    return Text(tuple(lines), tuple(numbers), tuple(files))


def _numbered(lines: list[str]) -> Text:
    if max(map(len, lines), default=0) <= _LONGEST_LINE:
        return Text(tuple(lines), tuple(range(1, len(lines) + 1)))
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
    lines: list[str] = []
    numbers: list[int] = []
    joined = broken = False
    for line, number in zip(text.lines, text.numbers, strict=True):
        if broken:
            lines[-1] += line
            joined = True
        else:
            lines.append(line)
            numbers.append(number)
        broken = len(line) == width and not line.endswith(("|", "+"))
    return Text(tuple(lines), tuple(numbers), text.files) if joined else None


_TERMINAL_WIDTHS = frozenset({72, 76, 78, 79, 80, 90, 96, 100, 110, 120, 132, 140, 150, 160, 180, 200})
