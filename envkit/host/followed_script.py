"""Follows a script that must end by itself: a signal for this program is passed on to it, and never leaves it alone."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType

from envkit.base.errors import StepFailed

_LOOK_S = 0.2  # how long a signal or the script's end may go unnoticed
_READ = 1 << 16
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def follow(command: Sequence[str], environment: Mapping[str, str], tell: Callable[[str], None]) -> tuple[int, str]:
    """The exit code of the command and what it printed; each line of its stderr goes to `tell` as it comes.

    A child of it that keeps its streams open is not waited for. Raises StepFailed where it cannot be started. For the
    main thread.
    """
    with _Passing() as passing:
        try:
            child = subprocess.Popen(
                list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment)
            )
        except OSError as error:
            raise StepFailed(f"cannot start {command[0]}: {error.strerror}.", "Run the script manually.") from error
        passing.child = child
        passing.again()
        with child:
            return _read(child, tell, passing)


def _read(child: subprocess.Popen[bytes], tell: Callable[[str], None], passing: _Passing) -> tuple[int, str]:
    assert child.stdout is not None and child.stderr is not None
    printed, line = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, printed)
        selector.register(child.stderr, selectors.EVENT_READ, line)
        while selector.get_map():
            has_ended = child.poll() is not None
            ready = selector.select(0 if has_ended else _LOOK_S)
            for key, _ in ready:
                data = os.read(key.fd, _READ)
                key.data.extend(data)
                if not data:
                    selector.unregister(key.fileobj)
            *lines, rest = line.split(b"\n")
            line[:] = rest
            for each in lines:
                tell(each.decode("utf-8", "replace"))
            passing.tell(tell)
            if has_ended and not ready:
                break
    if line:
        tell(line.decode("utf-8", "replace"))
    return child.wait(), printed.decode("utf-8", "replace")


class _Passing:
    """Hands signals on to a child. Ctrl-C reaches it through the terminal, as does what a terminal's end sends."""

    child: subprocess.Popen[bytes] | None = None

    def __init__(self) -> None:
        self._told: dict[str, bool] = {}  # what is to be said, each once, and whether it was
        self._waiting: int | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> _Passing:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def again(self) -> None:
        """Hand on what came while the child was started."""
        if self._waiting is not None:
            self._send(self._waiting)

    def tell(self, tell: Callable[[str], None]) -> None:
        """Say what has become of the signals since the last time: a handler must not write."""
        for said in [said for said, was_told in self._told.items() if not was_told]:
            self._told[said] = True
            tell(said)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if self.child is None:
            self._waiting = number
        else:
            self._send(number)

    def _send(self, number: int) -> None:
        assert self.child is not None
        said = "interrupted: waiting for the script to save its state"
        try:
            if number != signal.SIGINT or not _at_terminal():
                self.child.send_signal(number)
        except PermissionError:
            said = f"interrupted: the script runs as root, so it continues; to end it: sudo kill {self.child.pid}"
        except OSError:
            return  # it has just ended
        self._told.setdefault(said, False)


def _at_terminal() -> bool:
    """Whether what a terminal sends goes to this process, and with it to the script."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
