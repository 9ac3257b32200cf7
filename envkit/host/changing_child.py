"""A child that changes this machine, as a step of a fix: when this process is told to end, nothing of it goes on.

It shares the terminal, in which sudo asks for a password, so it has no session or group of its own to be ended by. What
it starts is found as what descends from here: orphans come to this process while the child runs, also those that made
a session of their own or emptied their environment. After a KILL, which lets nobody act, the guardian ends what
carries the step's mark.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from envkit.base.errors import StepFailed
from envkit.host.guardian import GUARDIAN
from envkit.host.stops import Stopped, stops_held

_GRACE_S = 3.0  # for pip, which puts back what it took away when it is interrupted
_PAUSE_S = 0.02
_TURNS = 100  # of ending what a dying process may just have started
_SET_CHILD_SUBREAPER = 36  # of prctl(2), in linux/prctl.h


def follow(words: Sequence[str], given: bytes, environment: Mapping[str, str], tell: Callable[[bytes], None]) -> int:
    """The exit status of the command, which reads `given`; each line that it writes goes to `tell`.

    Raises StepFailed where it cannot be started.
    """
    child: subprocess.Popen[bytes] | None = None
    with _orphans_adopted(), GUARDIAN.step(environment) as marked:
        try:
            with stops_held():
                child = _started(words, marked)
            return _read(child, given, tell)
        except KeyboardInterrupt as stop:
            if child is not None:
                _end(child, stop)
            raise
        finally:
            if child is not None:
                _close(child)
                child.wait()


def _started(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
        )
    except OSError as error:
        raise StepFailed(f"cannot start {words[0]}: {error.strerror}.") from error


def _read(child: subprocess.Popen[bytes], given: bytes, tell: Callable[[bytes], None]) -> int:
    assert child.stdin is not None and child.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it need not read
        child.stdin.write(given)
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
    for line in child.stdout:
        tell(line)
    return child.wait()


def _end(child: subprocess.Popen[bytes], stop: KeyboardInterrupt) -> None:
    """Asks the child to end, then ends it and all that it started; a second signal is not waited with."""
    with contextlib.suppress(KeyboardInterrupt):
        has_heard = not isinstance(stop, Stopped) and os.isatty(0)  # a terminal tells all that run in it
        if not has_heard:
            with contextlib.suppress(PermissionError):
                child.send_signal(signal.SIGINT)
        _drain(child, _GRACE_S)
    with stops_held():
        for _ in range(_TURNS):
            if not _killed(descendants()):
                return
            time.sleep(_PAUSE_S)
    child.returncode = -signal.SIGKILL  # it hangs in the kernel, and is not waited for


def _drain(child: subprocess.Popen[bytes], limit_s: float) -> None:
    """Waits for the child's end, and reads what it says meanwhile: a full pipe would stop it."""
    until = time.monotonic() + limit_s
    stream = child.stdout
    if stream is not None:
        os.set_blocking(stream.fileno(), False)
    while child.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError, ValueError):
            while stream is not None and os.read(stream.fileno(), 65536):
                pass
        time.sleep(_PAUSE_S)


def _killed(processes: Sequence[int]) -> bool:
    """True where one of them could be killed; what runs as root through sudo is waited for by whoever waits for it."""
    killed = False
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
            killed = True
    return killed


def descendants() -> list[int]:
    """The living processes that this one started, and those that they started; not the guardian."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stat:
            state, parent = stat.read().rpartition(b")")[2].split()[:2]
            if state != b"Z" and int(name) != GUARDIAN.process:
                children.setdefault(int(parent), []).append(int(name))
    found = list(children.get(os.getpid(), ()))
    for process in found:  # grows while it is walked
        found += children.get(process, ())
    return found


@contextlib.contextmanager
def _orphans_adopted() -> Iterator[None]:
    """A block in which processes whose parents have ended become children of this one."""
    _adopt(True)
    try:
        yield
    finally:
        _adopt(False)


def _adopt(wanted: bool) -> None:
    with contextlib.suppress(OSError, AttributeError):  # where the library is no glibc or musl, orphans go to init
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def _close(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
