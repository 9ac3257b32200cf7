"""How long a call keeps the processor busy, apart from what else the test run does."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call, in seconds.

    The collector stands still: after thousands of tests one sweep of its heap takes longer than what is measured.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        if collects:
            gc.enable()


def least_seconds(call: Callable[[], object], enough: float, tries: int = 5) -> float:
    """The shortest of up to `tries` calls; no further try once one took less than `enough` seconds.

    Other programs slow a call down through caches and clocks; none makes it faster.
    """
    best = seconds(call)
    for _ in range(tries - 1):
        if best < enough:
            break
        best = min(best, seconds(call))
    return best
