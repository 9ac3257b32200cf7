"""Hides what stands on the lines below a name: indented, alone on its line, or behind the marks of a quoted text."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_random
from envkit.privacy.secret_names import Strength
from envkit.privacy.secret_values import CLOSERS, HIDDEN, LINE, Span, matched

# what a mail, a comment, a launcher of processes or a test runner puts before each line
_QUOTED = regex(
    r"[ \t]{0,8}(?:(?:>{1,4}|#|//|\||;|\[[\w :./-]{1,30}\]:?|[\w.-]{1,30} {0,10}\||E)(?:[ \t]|(?=\n|$))){1,3}"
)
_RULE = regex(r"[ \t]*(?:[-=~─━]{3,80}[ \t]*)?\r?$")  # an empty line, or one that underlines
_IS_NEXT = regex(r"[ \t]{0,4}(?:(?:is|was|ist|lautet|est|es)[ \t]{0,4})?:?[ \t]{0,4}\r?(?=\n)")
_ALONE = regex(r"[ \t]{0,40}[\"'`]?([^\s\"'`]{1,400})[\"'`]?[,;.]?[ \t]{0,40}\r?$")
_FIRST = regex(r"[ \t]{0,40}[\"'`]?([^\s\"'`]{6,80})")
_MOST_WORDS = 4  # of a line of recovery codes
_MOST_SKIPPED = 2
_BACK = 200


def below(text: str, start: int, end: int, strength: Strength) -> Span | None:
    """The lines below a name that are indented deeper; those with names of their own are no value."""
    mark, own = _mark(text, start)
    indent = _indent(text[own:start])
    first, last = end + 1, end
    while last < len(text):
        line = text[slice(*matched(LINE, text, last + 1))]
        if not line.startswith(mark):
            break
        inner = line[len(mark) :]
        value = inner.strip().removeprefix("- ")
        if not value or _indent(inner) <= indent and not inner.strip().startswith("- ") or ": " in f"{value} ":
            break
        if value.startswith(HIDDEN) or strength < Strength.KEY and not looks_random(value.strip(CLOSERS)):
            break
        first = last + 1 + len(mark) + _indent(inner) if last == end else first
        last += len(line) + 1
    return (first, last) if last > end else None


def next_words(text: str, start: int, end: int, strength: Strength) -> Span | None:
    """The lines right below a name that hold nothing but what looks like a secret: what a prompt was answered."""
    mark, _ = _mark(text, start)
    at = _skipped(text, end, mark) if strength >= Strength.KEY else end
    first, last = at + 1 + len(mark), at
    while strength > Strength.WEAK and last < len(text):
        line = text[slice(*matched(LINE, text, last + 1))]
        words = line[len(mark) :].strip(" \t\r").split(" ") if line.startswith(mark) else []
        if not 0 < len(words) <= _MOST_WORDS or not all(looks_chosen(word.strip("\"'`,")) for word in words):
            break
        last += len(line) + 1
    if last > at:
        return first, last
    return None


def next_word(text: str, start: int, end: int) -> Span | None:
    """The first word of the next line, where it looks like a password: a quoted line was broken after `HF_TOKEN=`."""
    mark, _ = _mark(text, start)
    line = matched(LINE, text, end + 1)
    if not text.startswith(mark, line[0]):
        return None
    found = _FIRST.match(text, line[0] + len(mark), line[1])
    return found.span(1) if found and looks_chosen(found[1].rstrip(CLOSERS)) else None


def alone_below(text: str, start: int, end: int) -> Span | None:
    """The only word of the line below a name that ends its own line, if it looks like a password."""
    said = _IS_NEXT.match(text, end)
    if said is None:
        return None
    mark, _ = _mark(text, start)
    at = _skipped(text, said.end(), mark)
    line = matched(LINE, text, at + 1)
    if at >= len(text) or not text.startswith(mark, line[0]):
        return None
    found = _ALONE.match(text, line[0] + len(mark), line[1])
    return found.span(1) if found and looks_chosen(found[1].strip(CLOSERS)) else None


def _skipped(text: str, end: int, mark: str) -> int:
    """The end of the last of the empty lines, and of those that underline, below a place."""
    for _ in range(_MOST_SKIPPED):
        line = matched(LINE, text, end + 1)
        shown = text[slice(*line)]
        inner = shown[len(mark) :] if shown.startswith(mark) else shown
        if line[1] >= len(text) or shown.strip() and not (shown.startswith(mark.rstrip()) and _RULE.match(inner)):
            break
        end = line[1]
    return end


def _mark(text: str, start: int) -> tuple[str, int]:
    """What quotes the line of a name, and where the line goes on behind it."""
    line = text.rfind("\n", max(0, start - _BACK), start) + 1
    if not line and start > _BACK:
        return "", start
    found = _QUOTED.match(text, line, start)
    return (found.group(), found.end()) if found else ("", line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
