"""INT, TERM and HUP end the program by an exception, so that nothing half written stays behind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_IMPORTS = "<frozen importlib._bootstrap>"  # the file that Python names for the functions that import
_SOON_S = 0.01


class Stopped(KeyboardInterrupt):
    """The process was told to end by signal `number`."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _Holding:
    """Whether stops wait for the end of a block, and the last signal that came meanwhile."""

    blocks = 0
    waiting: int | None = None


def stop_by_exception() -> None:
    """From now on INT raises KeyboardInterrupt in the main thread, TERM and HUP Stopped, unless ignored, as by `nohup`.

    `envkit.__main__` leaves INT to the system while the program loads.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    others_lost = sys.unraisablehook

    def lost(raised: sys.UnraisableHookArgs) -> None:
        """A finalizer, a callback of the collector or a hook of fork passes nothing on: raise it again."""
        if isinstance(raised.exc_value, KeyboardInterrupt):
            _stop_soon(raised.exc_value.number if isinstance(raised.exc_value, Stopped) else signal.SIGINT)
        else:
            others_lost(raised)

    sys.unraisablehook = lost


@contextmanager
def stops_held() -> Iterator[None]:
    """A block that a signal ends only when it is through, as one that starts processes and notes down which."""
    _Holding.blocks += 1
    try:
        yield
    finally:
        _Holding.blocks -= 1
        number, _Holding.waiting = _Holding.waiting, None
        if number is not None:
            _stop(number, None)


def _stop(number: int, frame: FrameType | None) -> None:
    if _Holding.blocks:
        _Holding.waiting = number
    elif imports(frame):
        _stop_soon(number)
    elif number == signal.SIGINT:
        raise KeyboardInterrupt
    else:
        raise Stopped(number)


def _stop_soon(number: int) -> None:
    signal.signal(signal.SIGALRM, lambda _, later: _stop(number, later))
    signal.setitimer(signal.ITIMER_REAL, _SOON_S)


def imports(frame: FrameType | None) -> bool:
    """Whether an import is under way, in which no handler may raise.

    Python could lose the exception, and leave the lock on which every thread waits.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTS:
            return True
        frame = frame.f_back
    return False
