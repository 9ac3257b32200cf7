"""How much of every combination a sweep takes: all of them in `make test-sweep`, else a few.

The gate, whose time is limited, takes every third one, and begins with another one each day: three days see them all.
"""

from __future__ import annotations

import os
from datetime import date

_WANTED = os.environ.get("ENVKIT_SWEEP", "")
FULL = _WANTED == "all"
LARGE = FULL or _WANTED == "third"
# The last is prime to the sizes of the tables, so that a part touches every row of each.
STEP = 1 if FULL else 3 if LARGE else 499


def turn(shares: int) -> int:
    """Which of so many shares is today's: a long walk over everything takes one a day."""
    return date.today().toordinal() % shares


START = turn(STEP) if LARGE else 0
