"""A fix that is told to end leaves no process running, whatever its commands did to be left alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# the fix's own command is a shell that writes down the number of each process that it starts
CHILDREN = {
    "a deaf child": "trap '' INT TERM HUP; {note} $$; exec sleep 60",
    "a child of the child": "sleep 60 & {note} $!; wait",
    "a session of its own": "{note} $$; setsid sh -c '{note} $$; trap \"\" INT TERM HUP; exec sleep 60'",
    "an empty environment": "{note} $$; env -i setsid sh -c '{note} $$; exec /bin/sleep 60' & wait",
    "an orphan": "{note} $$; (setsid env -i sh -c '{note} $$; exec /bin/sleep 60' &); exec sleep 60",
    "one that talks without end": "trap '' INT TERM HUP; {note} $$; while :; do echo talk; done",
}
SOURCE = """
import os, signal, sys
sys.path[:0] = {path!r}
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
from envkit.host.stops import stop_by_exception
stop_by_exception()
from envkit.host.repairs import Work, carry_out
try:
    carry_out(Work(("sh", "-c", sys.argv[1])))
except KeyboardInterrupt as stop:
    sys.exit(128 + getattr(stop, "number", signal.SIGINT))
"""


class Fix:
    """A process that carries out one command of a fix, and what the command noted."""

    def __init__(self, folder: Path, script: str) -> None:
        self.notes = folder / "pids"
        source = SOURCE.format(path=sys.path)
        line = script.replace("{note}", f"echo >> {self.notes}")
        self.process = subprocess.Popen([sys.executable, "-c", source, line], stdin=subprocess.DEVNULL)

    def noted(self) -> list[int]:
        return [int(pid) for pid in self.notes.read_text().split()] if self.notes.exists() else []

    def living(self) -> list[int]:
        return [pid for pid in self.noted() if _lives(pid)]

    def end(self) -> None:
        for pid in (*self.living(), self.process.pid):
            with suppress(ProcessLookupError):
                subprocess.run(["kill", "-KILL", str(pid)], check=False, stderr=subprocess.DEVNULL)
        self.process.wait(10)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _await(condition: Callable[[], bool], limit_s: float) -> bool:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def started(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Fix]:
    script = CHILDREN[request.param]
    fix = Fix(tmp_path, script)
    assert _await(lambda: len(fix.living()) >= script.count("{note}"), 20.0), "the command did not start"
    yield fix
    fix.end()


@pytest.mark.thorough
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("started", CHILDREN, indirect=True)
def test_no_process_of_a_fix_outlives_it(started: Fix, number: signal.Signals) -> None:
    started.process.send_signal(number)
    assert started.process.wait(15) == 128 + number
    assert _await(lambda: not started.living(), 3.0), started.living()


@pytest.mark.thorough
@pytest.mark.parametrize("started", ["a deaf child"], indirect=True)
def test_a_second_signal_is_not_waited_with(started: Fix) -> None:
    started.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    began = time.monotonic()
    started.process.send_signal(signal.SIGTERM)
    assert started.process.wait(15) == 128 + signal.SIGTERM
    assert time.monotonic() - began < 2.0
    assert not started.living()


@pytest.mark.thorough
@pytest.mark.parametrize("started", ["a deaf child", "a child of the child", "a session of its own"], indirect=True)
def test_after_a_kill_the_guardian_ends_what_carries_the_mark(started: Fix) -> None:
    started.process.kill()
    started.process.wait(10)
    assert _await(lambda: not started.living(), 5.0), started.living()


@pytest.mark.thorough
def test_a_command_that_is_asked_to_end_may_put_things_back(tmp_path: Path) -> None:
    """As pip does: it is interrupted first, and has a moment."""
    script = f"trap 'sleep 0.5; echo back > {tmp_path}/put; exit 1' INT; {{note}} $$; while :; do sleep 0.1; done"
    fix = Fix(tmp_path, script)
    try:
        assert _await(lambda: bool(fix.living()), 20.0)
        fix.process.send_signal(signal.SIGTERM)
        assert fix.process.wait(15) == 128 + signal.SIGTERM
        assert (tmp_path / "put").read_text() == "back\n"
    finally:
        fix.end()


@pytest.mark.thorough
def test_what_a_finished_command_left_running_stays(tmp_path: Path) -> None:
    """A service that a fix started is what the fix is for."""
    fix = Fix(tmp_path, "setsid sleep 60 > /dev/null 2>&1 & {note} $!")
    try:
        assert fix.process.wait(20) == 0
        time.sleep(1.0)
        assert len(fix.living()) == 1
    finally:
        fix.end()
