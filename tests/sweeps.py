"""How much of every combination a sweep takes: all of them in `make test-sweep`, which the gate runs, else a few."""

from __future__ import annotations

import os

FULL = os.environ.get("ENVKIT_SWEEP") == "all"
