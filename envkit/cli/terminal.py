"""What the terminal is like: whether it shows color, and how wide it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.wrap import WIDTH

if TYPE_CHECKING:
    from typing import IO

_LETTERS = str.maketrans({"\u00b7": "-", "\u2026": "...", "\u00d7": "x", "\u2013": "-", "\u2192": "->"})
_NARROWEST, _WIDEST = 40, 120  # less breaks every line, more is hard to read
_DIGITS = 6  # of a number of columns, at most


@record
class Paper:
    """What text for a person is written on: how wide it is, whether it shows color, and in which letters."""

    width: int
    color: bool
    to_file: bool

    def fitted(self, text: str) -> str:
        """The text as it can be shown there; a file holds every letter."""
        return text if self.to_file else in_its_letters(text)


def paper(to_file: bool) -> Paper:
    """A file, which is the same whatever terminal it is made from, or the terminal."""
    return Paper(WIDTH if to_file else text_width(), not to_file and wants_color(), to_file)


def wants_color() -> bool:
    """True at a terminal, unless NO_COLOR or TERM=dumb decline it; FORCE_COLOR asks for it anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return at_terminal(sys.stdout) and os.environ.get("TERM") != "dumb"


def in_its_letters(text: str) -> str:
    """The text with letters for the signs that stdout cannot show, and codes for what has none."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_LETTERS).encode(encoding, "backslashreplace").decode(encoding)
    return text


def text_width() -> int:
    """How wide text for a person is: as the terminal or COLUMNS, within limits; the usual width without both."""
    columns = table_width()
    return min(max(columns, _NARROWEST), _WIDEST) if columns else WIDTH


def table_width() -> int | None:
    """The columns of the terminal or COLUMNS, None without both: what no width is told for is printed whole."""
    told = os.environ.get("COLUMNS", "")
    return terminal_width() or (int(told) if told.isdecimal() and len(told) < _DIGITS else 0) or None


def terminal_width() -> int | None:
    """The columns of the terminal, None where stdout is no terminal."""
    if not at_terminal(sys.stdout):
        return None
    from shutil import get_terminal_size

    return get_terminal_size((WIDTH, 24)).columns


def at_terminal(stream: IO[str] | None) -> bool:
    """Whether a standard stream is a terminal; where it was closed before the start, Python has None in its place."""
    return stream is not None and stream.isatty()
