"""INT, TERM and HUP end the program by an exception, so that nothing half written stays behind."""

from __future__ import annotations

import signal
from types import FrameType

_IMPORTS = "<frozen importlib._bootstrap>"  # the file that Python names for the functions that import
_SOON_S = 0.01


class Stopped(KeyboardInterrupt):
    """The process was told to end by signal `number`."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def stop_by_exception() -> None:
    """From now on INT raises KeyboardInterrupt in the main thread, TERM and HUP Stopped, unless ignored, as by `nohup`.

    `envkit.__main__` leaves INT to the system while the program loads.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    if imports(frame):
        signal.signal(signal.SIGALRM, lambda _, later: _stop(number, later))
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    elif number == signal.SIGINT:
        raise KeyboardInterrupt
    else:
        raise Stopped(number)


def imports(frame: FrameType | None) -> bool:
    """Whether an import is under way, in which no handler may raise.

    Python could lose the exception, and leave the lock on which every thread waits.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTS:
            return True
        frame = frame.f_back
    return False
