"""TERM and HUP end the program as Ctrl-C does: by an exception, so that nothing half written stays behind."""

from __future__ import annotations

import signal
from types import FrameType


class Stopped(KeyboardInterrupt):
    """The process was told to end by signal `number`."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def stop_by_exception() -> None:
    """From now on TERM and HUP raise Stopped in the main thread, unless somebody chose to ignore them (`nohup`)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
