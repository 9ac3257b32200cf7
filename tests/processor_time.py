"""How long a call keeps the processor busy, in seconds of the machine on which the limits were set.

Machines of a test farm differ by a factor of three, and so does one that other programs share. A known piece of work is
therefore timed beside a call that seems to take too long; a limit stands for growth that went wrong, and the benchmarks
watch the speed itself.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable

_WORK_S = 0.0125  # what `_work` takes on that machine, with nothing beside
_TEXT = "\n".join(f"node{number} kernel: step {number % 97} of a job, loss={number / 7:.4f}" for number in range(1200))
_NUMBER = re.compile(r"\bstep (\d+)[^\n]{0,40}loss=([\d.]+)")


def _work() -> float:
    """The seconds that a piece of work takes here and now which has what reading a text has: searching and counting."""
    start = time.process_time()
    seen: dict[str, int] = {}
    for line in _TEXT.splitlines() * 12:
        for match in _NUMBER.finditer(line):
            seen[match[1]] = seen.get(match[1], 0) + len(match[2].partition(".")[2])
    return time.process_time() - start


def slowness() -> float:
    """How many times longer the known work takes here and now, at least once."""
    return max(1.0, _work() / _WORK_S)


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

    From there on less counts where the machine is slow at the moment: other programs, caches, and clocks slow a call
    down; none makes it faster.
    """
    best = seconds(call)
    for turn in range(tries):
        if best < enough:
            break
        before = slowness()
        took = seconds(call) if turn else best
        best = min(best, took / ((before + slowness()) / 2))
    return best
