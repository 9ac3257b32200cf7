"""What the terminal is like: whether it shows color, and how wide it is."""

from __future__ import annotations

import os
import sys

from envkit.base.wrap import WIDTH

_LETTERS = str.maketrans({"\u00b7": "-", "\u2026": "...", "\u00d7": "x", "\u2013": "-", "\u2192": "->"})
_NARROWEST, _WIDEST = 40, 120  # less breaks every line, more is hard to read


def wants_colour() -> bool:
    """True at a terminal, unless NO_COLOR or TERM=dumb decline it; FORCE_COLOR asks for it anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _at_terminal() and os.environ.get("TERM") != "dumb"


def in_its_letters(text: str) -> str:
    """The text with letters for the signs that stdout cannot show, and codes for what has none."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_LETTERS).encode(encoding, "backslashreplace").decode(encoding)
    return text


def text_width() -> int:
    """How wide text for a person is: as the terminal, within limits; the usual width where stdout is none."""
    columns = terminal_width()
    return WIDTH if columns is None else min(max(columns, _NARROWEST), _WIDEST)


def terminal_width() -> int | None:
    """The columns of the terminal, None where stdout is no terminal."""
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns if _at_terminal() else None


def _at_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()  # None where stdout is closed
