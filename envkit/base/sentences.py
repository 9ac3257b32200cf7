"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.base.versions import Version


def series(parts: Iterable[object], word: str = "and") -> str:
    """The parts as a sentence lists them: `3.7`, `3.7 and 3.8`, `3.7, 3.8, and 3.9`; empty where there are none."""
    *others, last = [str(part) for part in parts] or [""]
    if not others:
        return last
    return f"{', '.join(others)}, {word} {last}" if len(others) > 1 else f"{others[0]} {word} {last}"


def spans(versions: Sequence[Version], word: str = "or") -> str:
    """Versions from first to last, each major one apart, for a list without gaps: `2.7 or 3.5 to 3.7`."""
    of_majors = [[*own] for _, own in groupby(versions, key=lambda one: one.major)]
    return series([f"{own[0]} to {own[-1]}" if len(own) > 1 else str(own[0]) for own in of_majors], word)
