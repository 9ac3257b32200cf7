"""Short Python programs that are typed into a shell, with the lines that they print."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT
from envkit.ingest.text import Text

_PYTHON = regex(r"\bpython(?:3(?:\.\d{1,2})?)?(?:\.exe)? (?:-c (?P<quote>[\"'])|- ?<< ?[\"']?(?P<end>\w{1,12})\b)")
_OTHERS = regex(r"; |&& ")
_LONGEST_CODE, _LONGEST_ANSWER = 40, 15  # lines


@record
class Program:
    """Its code, the lines below it up to the next prompt with their places, and where these begin.

    It is `last` where other commands stand before it on its line: the last of the lines are its own.
    """

    code: str
    answer: tuple[tuple[str, int], ...]
    below: int
    last: bool


def programs(text: Text) -> Iterator[Program]:
    """Those given as `python -c "…"` or in a here-document."""
    for index in text.lines_with("python"):
        match = None if text.repeats[index] else _PYTHON.search(text.lines[index])
        if match is None:
            continue
        last = _last(text, index, match.end(), match["quote"] or match["end"], alone=bool(match["end"]))
        code = "\n".join((text.lines[index][match.end() :], *text.lines[index + 1 : last + 1]))
        below = text.start(last + 1) if last + 1 < len(text.lines) else len(text.whole)
        prompt = PROMPT.match(text.lines[index])
        before = text.lines[index][prompt.end() if prompt else 0 : match.start()]
        yield Program(code, tuple(_answer(text, last + 1)), below, _OTHERS.search(before) is not None)


def _last(text: Text, index: int, column: int, closing: str, *, alone: bool) -> int:
    """The index of the last line of the code that begins at this column of a line."""
    if not alone and closing in text.lines[index][column:]:
        return index
    for number in range(index + 1, min(index + _LONGEST_CODE, len(text.lines))):
        line = text.lines[number]
        if line.strip() == closing if alone else closing in line:
            return number
    return index


def _answer(text: Text, first: int) -> Iterator[tuple[str, int]]:
    """The lines up to the next prompt; what a program prints has no empty lines, which end it too."""
    for index in range(first, min(first + _LONGEST_ANSWER, len(text.lines))):
        if PROMPT.match(text.lines[index]) or not text.lines[index].strip():
            return
        yield text.lines[index], text.start(index)
