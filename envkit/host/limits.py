"""Limits for work on what a stranger wrote: processor time and memory, whatever the text makes a reader do."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from envkit.base.errors import LimitError
from envkit.host.stops import imports

FOREIGN_S = 9.0  # of what somebody else wrote about a machine, read and judged
_MEMORY = 240 << 20  # bytes that the process may fill next to what it holds
_SPARE = 20 << 20  # beyond which nothing is given: an interpreter without memory for its own words ends badly
_LOOK_S = 0.02  # of processor time, between two looks
_AGAIN_S = 1.0  # until it is reported once more, should a handler on the way have swallowed it
_ENDING = frozenset((__file__, contextlib.__file__))  # what runs when the block is left
_DATA = 5  # column of statm: the pages that RLIMIT_DATA counts


class _Beyond(BaseException):
    """A limit is passed. No reader that goes on after an error of its own takes this for one."""


@contextlib.contextmanager
def limited(what: str, seconds: float = 6, memory: int = _MEMORY) -> Iterator[None]:
    """Work within `seconds` of processor time and `memory` more bytes of data. Raises LimitError, which names `what`.

    For a command's own process: it takes the process's profiling timer. Outside the main thread nothing is limited.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    import resource

    watch = _Watch(seconds, memory)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    least = min(limit for limit in (watch.most + _SPARE, soft, hard) if limit != resource.RLIM_INFINITY)
    before = signal.signal(signal.SIGPROF, watch.look)
    sys.unraisablehook = watch.lost
    resource.setrlimit(resource.RLIMIT_DATA, (least, hard))
    signal.setitimer(signal.ITIMER_PROF, _LOOK_S, _LOOK_S)
    try:
        yield
    except _Beyond:
        pass
    except MemoryError:  # one step took more than was left
        watch.full()
    finally:  # first of all, as even the words of an error need memory
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        signal.signal(signal.SIGPROF, before)
        sys.unraisablehook = watch.others_lost
    if watch.beyond:
        raise LimitError(f"{what}: reading it takes over {watch.beyond}.", "Pass a smaller or simpler file.")


class _Watch:
    """What one block may take, looked at between the steps of the interpreter."""

    def __init__(self, seconds: float, memory: int) -> None:
        self.most = _held() + memory
        self.beyond = ""  # the limit that is passed, in words
        self._seconds, self._memory = seconds, memory
        self._until, self._again = time.process_time() + seconds, 0.0
        self.others_lost = sys.unraisablehook  # who hears of all other lost exceptions

    def look(self, number: int, frame: FrameType | None) -> None:
        """Raise where a limit is passed and the exception can travel."""
        now = time.process_time()
        if frame is None or frame.f_code.co_filename in _ENDING or now < self._again:
            return  # what it held is being given back
        if _held() > self.most:
            self.full()
        elif now > self._until:
            self.beyond = f"{self._seconds:g} s"
        if self.beyond and not imports(frame):
            self._again = now + _AGAIN_S
            raise _Beyond

    def lost(self, raised: sys.UnraisableHookArgs) -> None:
        """Have the next look raise again: finalizers and callbacks of the collector pass nothing on."""
        if raised.exc_type is _Beyond:
            self._again = 0.0
        else:
            self.others_lost(raised)

    def full(self) -> None:
        self.beyond = f"{self._memory >> 20} MiB of memory"


def _held() -> int:
    """The bytes of data of this process; 0 where the kernel does not tell."""
    try:
        with open("/proc/self/statm", "rb") as pages:
            return int(pages.read().split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
