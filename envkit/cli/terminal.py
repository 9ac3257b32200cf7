"""Colour only for a person at a terminal who has not declined it."""

from __future__ import annotations

import os
import sys


def wants_colour() -> bool:
    """True when stdout is a terminal, NO_COLOR is unset or empty, and TERM is not dumb."""
    # None where stdout is closed
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
