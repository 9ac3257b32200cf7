"""Every command that reads what somebody else wrote about a machine gives it up in one line, and stays small."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.decode import decoded
from envkit.base.errors import LimitError
from envkit.cli.boundary import exit_code
from envkit.host import limits
from envkit.model.facts_json import to_json
from tests.fakes.machines import load_machine
from tests.hostile.growing import WAYS, grown
from tests.security.limits import envkit_measured

SECONDS, MEGABYTES = 10.0, 300.0  # what any input may take
_LINE = "[{0:6d}.{1:06d}] node{2} kernel: NVRM: message {0} of GPU {3} state {4}\n"
_ASKED = {
    "doctor": ("doctor", "--from", "FILE"),
    "doctor --json": ("doctor", "--from", "FILE", "--json", "--mask"),
    "resolve": ("resolve", "--framework", "pytorch", "--target", "FILE"),
    "check": ("check", "REQUIREMENTS", "--target", "FILE"),
    "diff": ("diff", "FILE", "FILE"),
}


def _log(size: int) -> str:
    lines = (_LINE.format(n, n * 7919 % 10**6, n % 97, n % 8, n * 31 % 1009) for n in range(size // 70))
    return "".join(lines)[:size]


def _facts(place: str, name: str, count: int) -> str:
    return json.dumps(to_json(grown(load_machine(name), place, count, WAYS["renumbered"])))


SENT: dict[str, Callable[[], str]] = {
    "log": lambda: _log(24_000_000),
    "log with pictures": lambda: "\U0001f600" + _log(12_000_000),
    "log of bars": lambda: " 50%|\u2588\u2588\u2588\u2588     | 1/2 [00:01<00:01]\n" * 550_000,
    "short lines": lambda: "a\n" * 12_000_000,
    "one line": lambda: "a" * 25_000_000,
    "written over": lambda: "x\r" * 12_000_000,
    "GPUs": lambda: _facts(".gpus.value[]", "ubuntu22.04-8xh100-550", 4000),
    "environments": lambda: _facts(".pythons.value[]", "ubuntu22.04-rtx4090-550-torch", 1000),
    "packages": lambda: _facts(".pythons.value[].distributions[]", "ubuntu22.04-rtx4090-550-torch", 20_000),
    "lines of the kernel": lambda: _facts(".kernel.value[].log[]", "ubuntu22.04-8xh100-lost-gpu", 50_000),
    "JSON of nothing": lambda: '{"environment": {"a": [' + "[]," * 290_000 + "1]}}",
}


class _Ends:
    """What its finalizer raises is lost, as Python passes nothing on from there."""

    def __del__(self) -> None:
        _busy(0.2)


def _busy(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_a_limit_that_is_met_in_a_finalizer_is_told_at_the_next_look(capsys: pytest.CaptureFixture[str]) -> None:
    began, hook = time.process_time(), sys.unraisablehook
    with pytest.raises(LimitError), limits.limited("sent", seconds=0.05):
        ends = _Ends()
        del ends
        _busy(5)
    assert time.process_time() - began < 0.9  # a swallowed one is told again after a second
    assert sys.unraisablehook is hook and not capsys.readouterr().err


@pytest.mark.parametrize("command", _ASKED)
def test_a_command_gives_up_what_takes_too_long(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.json").write_text(_facts(".gpus.value[]", "ubuntu22.04-8xh100-550", 1500))
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    monkeypatch.setattr(limits, "FOREIGN_S", 0.05)
    given = {"FILE": str(tmp_path / "facts.json"), "REQUIREMENTS": str(tmp_path / "requirements.txt")}
    assert exit_code([given.get(word, word) for word in _ASKED[command]]) == 2
    assert "takes over 0.05 s" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_host_that_takes_too_long_does_not_take_the_fleet_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "large.json").write_text(_facts(".gpus.value[]", "ubuntu22.04-8xh100-550", 6000))
    (tmp_path / "small.txt").write_text("NVRM: API mismatch: the client has the version 550.120\n")
    exit_code(["fleet", "report", str(tmp_path), "--jobs", "1"])  # what is loaded once takes no time of a host
    capsys.readouterr()
    monkeypatch.setattr(limits, "FOREIGN_S", 1.0)
    assert exit_code(["fleet", "report", str(tmp_path), "--jobs", "1", "-v"]) in (0, 1)
    told = capsys.readouterr().out
    assert "takes over 1 s" in told and "1 unknown" in told


def test_a_long_text_has_no_character_that_makes_all_others_wide() -> None:
    text = "\U0001f600 50%|\u2588| caf\u00e9 \u4e2d\n" * 300_000
    data = text.encode()
    assert decoded(data) == text.replace("\U0001f600", "\ufffd")
    assert decoded(data[:4000]) == text[: len(data[:4000].decode("utf-8", "replace"))]
    assert decoded(b"\xff\xfe" + text.encode("utf-16-le")) == text.replace("\U0001f600", "\ufffd")


@pytest.mark.thorough
@pytest.mark.parametrize("name", SENT)
def test_no_input_takes_long_or_much_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sent"
    path.write_text(SENT[name]())
    measured = envkit_measured("doctor", "--from", str(path))
    assert measured.exit_code in (0, 1, 2), measured.output
    assert measured.processor_seconds < SECONDS and measured.megabytes < MEGABYTES, measured
