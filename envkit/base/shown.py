"""Foreign text as a person may see it: what steers a terminal, turns text around or ends a line becomes visible.

Names of folders, packages and systems reach every report. `shown` is for one text, `inert` for a whole value of the
model; nothing foreign goes to a person that has not passed one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, TypeVar

from envkit._startup.records import is_record, replace, types_of
from envkit._startup.regex import regex

T = TypeVar("T")

_LINE_END = "\u23ce"  # the mark for the end of a line inside a text
# A class of characters for patterns: the controls C1, ends of lines and paragraphs, halves of surrogate pairs, and what
# is not drawn and changes or hides what is: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), marks
# of interlinear notes, and the blank of Braille. U+FE0F is none of them here: it is behind every second emoji.
UNSEEN = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_STEERING = regex(f"\r\n|[\x00-\x1f{UNSEEN}]")
_ENDS = frozenset(("\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"))


def shown(text: str) -> str:
    r"""The text on one line: a mark for the end of a line, `\x1b` and `\u202e` for what else steers, tabs as blanks."""
    if text.isascii() and text.isprintable():  # as most are: the pattern takes longer to make than they all to read
        return text
    return _STEERING.sub(_visible, text)


def inert(value: T) -> T:
    """The value with every text in it as `shown` gives it; the value itself where nothing in it steers."""
    return with_each_text(value, shown)


def with_each_text(value: T, change: Callable[[str], str]) -> T:
    """The value with every text in it changed; the value itself where nothing changes."""
    kind = type(value)
    clean: Any = value
    if kind is str:
        clean = change(str(value))
    elif kind is tuple or kind is list:
        items: Any = value
        clean = [with_each_text(item, change) for item in items]
        if all(map(is_, clean, items)):
            return value
        clean = kind(clean)  # type: ignore[call-arg]
    elif is_record(kind):
        clean = _record(value, change)
    elif isinstance(value, Mapping):
        clean = {with_each_text(key, change): with_each_text(item, change) for key, item in value.items()}
    return value if clean == value else clean


def shown_lines(text: str) -> str:
    """A text of several lines, each of them as `shown` gives it."""
    return "\n".join(map(shown, text.split("\n")))


def _record(value: Any, change: Callable[[str], str]) -> object:  # noqa: ANN401 - any record
    changed = {}
    for name in types_of(type(value)):
        held = getattr(value, name)
        clean = with_each_text(held, change)
        if clean is not held:
            changed[name] = clean
    return replace(value, **changed) if changed else value


def _visible(match: object) -> str:
    character: str = match.group()  # type: ignore[attr-defined]
    if character in _ENDS:
        return _LINE_END
    if character == "\t":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
