"""Ansible's lines are told as they come, and one that waits for a host that is gone does not keep us."""

from __future__ import annotations

import os
import time

import pytest

from envkit.host.ansible import run_ansible

_PLAYS = "echo '{\"event\": 1}'; echo 'a warning'; printf 'no end of line'"


def _run(script: str, patience_s: float) -> tuple[int | None, list[str], list[str], float]:
    told: list[str] = []
    started = time.monotonic()
    code, said = run_ansible(["sh", "-c", script], os.environ, told.append, patience_s)
    return code, said, told, time.monotonic() - started


def test_each_line_is_told_and_the_status_given() -> None:
    code, said, told, _ = _run(f"{_PLAYS}; exit 4", 60)
    assert (code, said) == (4, ["a warning", "no end of line"])
    assert told == ['{"event": 1}', "a warning", "no end of line"]


@pytest.mark.thorough
def test_one_that_says_nothing_more_is_ended() -> None:
    code, said, _, took_s = _run("echo started; sleep 300", 0.5)
    assert (code, said) == (None, ["started"]) and took_s < 20


@pytest.mark.thorough
def test_before_its_first_line_it_may_wait_for_a_person() -> None:
    code, said, _, _ = _run("sleep 1.5; echo started", 0.5)
    assert (code, said) == (0, ["started"])
