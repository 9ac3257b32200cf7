"""However envkit ends, nothing of it stays: no child, no half-written folder; and few means still give a report."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from textwrap import indent

import pytest

from envkit.host.stops import Stopped, stop_by_exception

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
RUNS = 40


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """A machine whose tools hang, with children of their own, and write down who they are."""
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o755)
    for name in ("nvidia-smi", "docker", "podman", "nvidia-ctk"):
        tool = tools / name
        away = "setsid " if name == "docker" else ""  # a session of its own
        tool.write_text(f"#!/bin/sh\ntrap '' TERM INT HUP\n{away}sleep 60 &\necho $$ $! >> {tmp_path}/pids\nwait\n")
        tool.chmod(0o755)
    return tmp_path


def _start(sick: Path, *words: str) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "PATH": f"{sick}/tools:/usr/bin:/bin"}
    command = [sys.executable, "-m", "envkit", *words]
    return subprocess.Popen(
        command,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=sick,
        preexec_fn=_hear_signals,  # noqa: PLW1509 - no threads here
    )


def _hear_signals() -> None:
    """What a shell starts in the background ignores SIGINT, and so would its children."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _await(met: Callable[[], bool], limit_s: float = 30.0) -> bool:
    deadline = time.monotonic() + limit_s
    while not met() and time.monotonic() < deadline:
        time.sleep(0.02)
    return met()


def _living(sick: Path) -> list[int]:
    pids = sick / "pids"
    words = pids.read_text().split() if pids.exists() else []
    return [int(pid) for pid in words if _lives(pid)]


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.thorough
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_child_outlives_the_program(sick: Path, number: signal.Signals) -> None:
    process = _start(sick, "doctor")
    assert _await(lambda: len(_living(sick)) >= 4)
    process.send_signal(number)
    code = process.wait(30)
    assert code == (-number if number is signal.SIGKILL else 128 + number)
    assert _await(lambda: not _living(sick), 3.0), _living(sick)


@pytest.mark.thorough
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_child_outlives_the_program_whenever_it_is_reported(sick: Path, number: signal.Signals) -> None:
    generator = random.Random(number)
    for _ in range(RUNS):
        process = _start(sick, "doctor")
        time.sleep(generator.uniform(0.1, 1.5))
        process.send_signal(number)
        process.wait(30)
        assert _await(lambda: not _living(sick), 3.0), _living(sick)
        (sick / "pids").unlink(missing_ok=True)


@pytest.mark.thorough
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_worker_outlives_a_report_of_many_hosts(sick: Path, number: signal.Signals) -> None:
    """Between two results of its workers, nobody but the system can tell them of the end."""
    folder = sick / "hosts"
    folder.mkdir()
    for host in range(400):
        (folder / f"n{host}.txt").write_text("Driver Version: 550.54.15\n" * 400)
    generator = random.Random(number)
    for _ in range(3):
        _tell(_start(sick, "fleet", "report", str(folder), "--jobs", "3"), number, generator.uniform(0.0, 0.5))


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_worker_of_ansible_outlives_a_fleet_run(sick: Path, number: signal.Signals) -> None:
    """Ansible's workers have sessions of their own, so that a signal for its group does not reach them."""
    engine = sick / "tools/ansible-playbook"
    engine.write_text(f"#!/bin/sh\nsetsid sleep 60 &\necho $$ $! >> {sick}/pids\nwait\n")
    engine.chmod(0o755)
    (sick / "hosts.ini").write_text("node1\n")
    process = _start(sick, "fleet", "doctor", "--inventory", f"{sick}/hosts.ini", "--out", f"{sick}/run")
    assert _await(lambda: len(_living(sick)) == 2)
    process.send_signal(number)
    process.wait(30)
    assert _await(lambda: not _living(sick), 3.0), _living(sick)


def _tell(process: subprocess.Popen[bytes], number: signal.Signals, after_s: float) -> None:
    assert _await(lambda: len(_children(process.pid)) >= 3), "no workers"
    time.sleep(after_s)
    workers = _children(process.pid)
    process.send_signal(number)
    process.wait(30)
    assert _await(lambda: not any(map(_lives, workers)), 2.0), workers


def _children(pid: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(stat.parent.name)
    return found


def test_a_stop_in_the_middle_of_an_import_waits_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised inside an import, the exception could be lost, and the lock of all imports stay taken: a hang."""
    (tmp_path / "told_to_stop.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nended = sum(range(1000))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stop_by_exception()
    try:
        with pytest.raises(Stopped):
            import_module("told_to_stop")
            time.sleep(30)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert sys.modules.pop("told_to_stop").ended


_STOPPED = """
import os, signal, sys
sys.path[:0] = {path!r}
from envkit.host.stops import Stopped, stop_by_exception
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
stop_by_exception()
def tell():
    os.kill(os.getpid(), signal.Signals[sys.argv[1]])
try:
{body}
    time.sleep(30)
except KeyboardInterrupt as stop:
    print(getattr(stop, "number", 2))
"""
_LOSING = {  # where Python drops what a handler raises
    "a hook of fork": "import time, logging\nos.register_at_fork(after_in_parent=tell)\nif not os.fork(): os._exit(0)",
    "a finalizer": "import time\nclass Last:\n    def __del__(self): tell()\nLast()",
    "a callback of weak references": "import time, weakref\nclass Last: pass\nlast = Last()\n"
    "kept = weakref.ref(last, lambda gone: tell())\ndel last",
    "the start of workers": "import time\nfrom envkit.host.workers import spread\n"
    "os.register_at_fork(after_in_parent=tell)\nprint(len(list(spread(list, range(300), 3))))",
}


@pytest.mark.parametrize("number", SIGNALS[:3], ids=lambda number: number.name)
@pytest.mark.parametrize("place", _LOSING)
def test_a_stop_is_not_lost_where_python_drops_exceptions(place: str, number: signal.Signals) -> None:
    """Half a pool of workers would wait for its tasks without end, and the program for them."""
    source = _STOPPED.format(path=sys.path, body=indent(_LOSING[place], "    "))
    done = subprocess.run(
        [sys.executable, "-c", source, number.name], capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.stdout, done.stderr) == (f"{int(number)}\n", "")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_capture_that_is_told_to_end_leaves_nothing_that_stays(sick: Path, number: signal.Signals) -> None:
    """After a KILL, which nobody can answer, the next capture clears up."""
    place = sick / "place"
    place.mkdir()
    left = place / f".box-{2**22 + 1}-abcdefgh"
    left.mkdir()
    (place / f".box-{os.getpid()}-abcdefgh").mkdir()
    (place / ".box-notes-abcdefgh").mkdir()
    process = _start(sick, "capture", str(place / "box"))
    assert _await(lambda: len(_living(sick)) >= 4)
    process.send_signal(number)
    process.wait(30)
    assert _await(lambda: not _living(sick), 3.0)
    assert left.exists(), "it was told to end before it wrote"
    from envkit.host.new_folder import clear_leftovers

    clear_leftovers(place / "box")
    assert {path.name for path in place.iterdir()} == {f".box-{os.getpid()}-abcdefgh", ".box-notes-abcdefgh"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("limit", "amount"), [(resource.RLIMIT_NPROC, 1), (resource.RLIMIT_AS, 150_000 * 1024)], ids=["processes", "memory"]
)
def test_few_means_still_give_a_report(limit: int, amount: int) -> None:
    """Root is not held to a number of processes; a thread that cannot be started is then played."""
    source = (
        "import threading\n"
        'def refuse(self): raise RuntimeError("can\'t start new thread")\n'
        "threading.Thread.start = refuse\n"
        if limit == resource.RLIMIT_NPROC
        else ""
    ) + "from envkit.__main__ import run\nimport sys\nsys.argv = ['envkit', 'doctor']\nsys.exit(run())\n"
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(limit, (amount, amount)) if limit == resource.RLIMIT_AS else None,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "checks passed" in done.stdout


_STORM = '''
import os, signal, subprocess, sys, time
os.setsid()
signal.signal(signal.SIGINT, lambda *about: None)
from envkit.host.guardian import Guardian
storm = """if True:
    import os, signal
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.getppid() == os.getpgrp():
        os.killpg(0, signal.SIGINT)
"""
subprocess.Popen([sys.executable, "-c", storm])
time.sleep(0.2)
guardians = [Guardian() for _ in range(40)]
for guardian in guardians:
    guardian.forget(1)
time.sleep(0.3)
states = [open(f"/proc/{guardian.process}/stat").read().rpartition(")")[2].split()[0] for guardian in guardians]
print(sum(state in "ZX" for state in states), flush=True)
os._exit(0)
'''


def test_a_signal_for_the_group_does_not_end_the_guardian_that_is_being_started() -> None:
    """It has no group of its own yet: without it, children of a run that ends then would live on."""
    done = subprocess.run([sys.executable, "-c", _STORM], capture_output=True, text=True, check=False, timeout=30)
    assert (done.stdout, done.stderr) == ("0\n", "")
