"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Iterable


def series(parts: Iterable[object]) -> str:
    """The parts as a sentence lists them: `3.7`, `3.7 and 3.8`, `3.7, 3.8, and 3.9`."""
    *others, last = map(str, parts)
    if not others:
        return last
    return f"{', '.join(others)}, and {last}" if len(others) > 1 else f"{others[0]} and {last}"
