"""How far a long text is read, on stderr of a terminal, for what takes more than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE_S = 1.0
_CLEAR = "\r\x1b[K"


@contextmanager
def reading(characters: int) -> Iterator[Callable[[float], None]]:
    """What to tell how much is done, from 0 to 1; the line goes when the block ends."""
    from time import monotonic

    start, at_terminal = monotonic(), sys.stderr is not None and sys.stderr.isatty()
    shown = False

    def progress(done: float) -> None:
        nonlocal shown
        if at_terminal and monotonic() - start > _PATIENCE_S:
            shown = True
            _write(f"{_CLEAR}Reading {max(round(characters / 1e6), 1)} MB of text: {done:.0%}")

    try:
        yield progress
    finally:
        if shown:
            _write(_CLEAR)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
