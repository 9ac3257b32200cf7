"""JSON as envkit reads and writes it: foreign numbers and nesting have limits; what is written is valid and inert."""

from __future__ import annotations

import json
from typing import Any

from envkit._startup.regex import regex
from envkit.base.errors import LimitError
from envkit.base.shown import UNSEEN

_LONGEST = 16_000_000  # characters of a document
_MOST_ITEMS = 300_000  # the largest recording has some thousands
_DIGITS = 20  # of a whole number; those of 64 bits fit
_DEEPEST = 100  # lists and objects inside each other
_SURROGATE = regex("[\ud800-\udfff]")
_UNSEEN = regex(f"[{UNSEEN}]")  # JSON itself escapes the controls C0


def loads(text: str | bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a JSON text holds. Raises ValueError for what is none, LimitError for what is beyond reason."""
    _check_size(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    try:
        found = json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_no_number)
    except RecursionError:
        raise _too_deep() from None
    _check_depth(found)
    return found


def dumps(document: object, indent: int | None = 2) -> str:
    """The document as JSON of visible characters: valid for every reader, and nothing in it steers a terminal."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    text = _SURROGATE.sub(lambda half: f"\\\\u{ord(half.group()):04x}", text)  # half a pair is no character: its name
    return _UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1], text)


def _check_size(text: str) -> None:
    """Raises LimitError for a text that would become more data than any machine has facts."""
    if len(text) > _LONGEST:
        raise LimitError(
            f"this JSON is longer than {_LONGEST:,} characters.", ("No capture is that long: check the file.")
        )
    if text.count(",") + text.count("[") + text.count("{") > _MOST_ITEMS:
        raise LimitError(
            f"this JSON contains more than {_MOST_ITEMS:,} items.", ("No capture has that many: check the file.")
        )


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise LimitError(
            f"this JSON contains a number of {len(digits)} digits.", "No fact is that large: check the file."
        )
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise LimitError(f"this JSON contains the number {digits[:40]}.", "No fact is that large: check the file.")
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _check_depth(document: object) -> None:
    """Raises LimitError where lists and objects are nested deeper than any document of facts."""
    level: list[Any] = [document]
    for _ in range(_DEEPEST + 1):
        level = [item for item in level if isinstance(item, (dict, list))]
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> LimitError:
    return LimitError(
        f"this JSON nests more than {_DEEPEST} lists and objects.",
        ("No facts file is nested that deeply: check the file."),
    )
