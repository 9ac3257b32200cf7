"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Iterable


def series(parts: Iterable[object], word: str = "and") -> str:
    """The parts as a sentence lists them: `3.7`, `3.7 and 3.8`, `3.7, 3.8, and 3.9`; empty where there are none."""
    *others, last = [str(part) for part in parts] or [""]
    if not others:
        return last
    return f"{', '.join(others)}, {word} {last}" if len(others) > 1 else f"{others[0]} {word} {last}"
