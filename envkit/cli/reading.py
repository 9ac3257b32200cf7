"""How far long work is, on stderr of a terminal, for what takes more than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from envkit.cli.terminal import at_terminal

_PATIENCE_S = 1.0
_CLEAR = "\r\x1b[K"


@contextmanager
def reading(characters: int) -> Iterator[Callable[[float], None]]:
    """What to tell how much is done, from 0 to 1; the line goes when the block ends."""
    size = f"{max(round(characters / 1e6), 1)} MB"
    with _line() as show:
        yield lambda done: show(f"Reading {size} of text: {done:.0%}")


@contextmanager
def counting(total: int, things: str) -> Iterator[Callable[[int], None]]:
    """What to tell how many are done; the line goes when the block ends."""
    with _line() as show:
        yield lambda done: show(f"{done:,} of {total:,} {things}")


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    from time import monotonic

    start, somebody_waits = monotonic(), at_terminal(sys.stderr)
    shown = False

    def show(text: str) -> None:
        nonlocal shown
        if somebody_waits and monotonic() - start > _PATIENCE_S:
            shown = True
            _write(f"{_CLEAR}{text}")

    try:
        yield show
    finally:
        if shown:
            _write(_CLEAR)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
