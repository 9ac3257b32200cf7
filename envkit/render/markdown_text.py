"""Texts as Markdown that a tracker shows and does not act on: no mention, link, image, HTML or end of a fence in them.

Trackers look for `@name`, `#1` and addresses in what their Markdown renders, where a backslash is gone already: only
code is not changed. So a text is prose where it can be nothing else, and code where it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.regex import regex

_PLAIN = regex(r"(?:[A-Za-z0-9 .,;:()'\"+=/?·…—-]|(?<=[0-9])%|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))*")
_ACTS = regex(  # addresses, commits, issues, emojis, milestones; they need no character that is not plain
    r"(?i)[a-z]:/|www\.|mailto:|xmpp:|\bgh-\d|:(?:[a-z_][\w+-]*|[+-]1|100|1234):|%[\w\"]|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b|\b\d{7,}\b"
)
_TICKS = regex(r"`+")


def prose(text: str) -> str:
    """The text as it is where it is nothing but words and quoted commands, otherwise as code."""
    if _is_plain(text):
        return text
    pieces = text.split("`")  # what is between two of them is code already
    if len(pieces) % 2 and any(pieces[::2]) and all(map(_is_plain, pieces[::2])) and all(pieces[1::2]):
        return "".join(code(piece) if number % 2 else piece for number, piece in enumerate(pieces))
    return code(text)


def _is_plain(text: str) -> bool:
    """Whether a tracker shows the text as it is and acts on nothing in it."""
    return bool(_PLAIN.fullmatch(text)) and not _ACTS.search(text)


def code(text: str) -> str:
    """The text as a code span, between more backticks than are in it side by side."""
    ticks = "`" * (_longest([text]) + 1)
    inside = f" {text} " if text.startswith("`") or text.endswith("`") or not text.strip() else text
    return f"{ticks}{inside}{ticks}"


def fenced(lines: Iterable[str], language: str = "sh") -> Iterator[str]:
    """The lines as a block of code that none of them can end."""
    held = list(lines)
    fence = "`" * max(3, _longest(held) + 1)
    yield from (f"{fence}{language}", *held, fence)


def _longest(lines: Iterable[str]) -> int:
    """The longest run of backticks in the lines."""
    return max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
