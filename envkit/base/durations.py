"""Spans of time in words."""

from __future__ import annotations

_LEAST_SHOWN = 1e-3  # of a unit of time


def duration(seconds: float) -> str:
    """Seconds, or milliseconds below one, in three figures and never with a power of ten."""
    number, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    if number < _LEAST_SHOWN:
        return f"less than {_LEAST_SHOWN} {unit}"
    return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
