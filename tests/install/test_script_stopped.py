"""A signal ends the script that `install --run` started, which saves its state, and never envkit alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envkit.base.errors import StepFailed
from envkit.host.run_script import run_script

_SCRIPT = """
on_exit() {{
  code=$?; trap '' INT TERM HUP
  echo saving >&2; sleep 0.2; echo saved > {state}; echo saved >&2
  echo "{{\\"code\\": $code}}"; exit "$code"
}}
trap on_exit EXIT
trap 'exit 130' INT TERM HUP
for step in $(seq 100); do echo "[$step/100] step" >&2; sleep 0.05; done
"""
_RUNNER = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
from envkit.host.stops import stop_by_exception
from envkit.host.run_script import run_script
stop_by_exception()
done = run_script(sys.argv[1], [], lambda line: print(line, flush=True), sudo=False)
print(done.exit_code, done.result)
"""


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_script_and_its_state_is_saved(number: signal.Signals, times: int, tmp_path: Path) -> None:
    """Without a terminal, as in CI, nobody but envkit can tell the script; told twice, it must not be left alone."""
    state = tmp_path / "state"
    process = subprocess.Popen(
        [sys.executable, "-c", _RUNNER, _SCRIPT.format(state=state)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "[1/100] step\n"
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.001)
    said, errors = process.communicate(timeout=30)
    assert errors == "" and said.endswith('130 {"code": 130}\n\n')
    assert said.count("waiting for the script to save its state\n") == 1
    assert said.index("saving\n") < said.index("saved\n")
    assert state.read_text() == "saved\n"


def test_a_signal_while_the_script_is_started_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def told_meanwhile(*words: object, **options: object) -> object:
        child = start(*words, **options)  # type: ignore[call-overload]
        os.kill(os.getpid(), signal.SIGTERM)
        return child

    monkeypatch.setattr("subprocess.Popen", told_meanwhile)
    before = signal.getsignal(signal.SIGTERM)
    done = run_script("trap 'exit 130' TERM; echo go >&2; while :; do sleep 0.05; done", [], print, sudo=False)
    assert done.exit_code in (130, -signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_service_that_the_script_starts_is_not_waited_for() -> None:
    heard: list[str] = []
    begun = time.monotonic()
    done = run_script("sleep 30 & echo one >&2; printf two >&2; echo '{}'; exit 3", [], heard.append, sudo=False)
    assert (done.exit_code, done.result, heard) == (3, "{}\n", ["one", "two"])
    assert time.monotonic() - begun < 10


def test_much_output_on_both_streams_blocks_nobody() -> None:
    heard: list[str] = []
    script = "for n in $(seq 3000); do echo $n$n$n$n$n$n$n$n; echo $n$n$n$n$n$n$n$n >&2; done"
    assert len(run_script(script, [], heard.append, sudo=False).result.splitlines()) == len(heard) == 3000


def test_without_bash_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("envkit.host.programs._SYSTEM_FOLDERS", ())
    with pytest.raises(StepFailed, match="cannot start bash"):
        run_script("exit 0", [], print, sudo=False)
