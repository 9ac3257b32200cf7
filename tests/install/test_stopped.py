"""Stopped at every step, by kill -9 and by Ctrl-C in turn, the script goes on and comes to the same end."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import Machine, machine, without_notes
from tests.install.standins import SLOW

pytestmark = pytest.mark.docker


def test_every_step_is_stopped_once_and_nothing_is_lost(
    engine: Engine, target_image: str, job: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path / "clean") as target:
        target.put(job.script())
        assert target.install().exit_code == 0
        wanted = without_notes(target.tree())

    with machine(engine, target_image, tmp_path / "stopped") as target:
        target.put(job.script())
        before = target.tree()
        target.sh(f"touch {SLOW}")
        job.behavior.delay_s = 0.02
        steps = job.script().count("\n  run_step ")
        stopped = [_stop_at_step(target, number, steps) for number in range(1, steps + 1)]
        assert any(stopped), "no step was long enough to be stopped"
        target.sh(f"rm {SLOW}")
        job.behavior.delay_s = 0
        last = target.install("--resume")
        assert last.exit_code == 0, last.stderr
        assert without_notes(target.tree()) == wanted

        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_a_rollback_that_is_stopped_can_be_repeated(
    engine: Engine, target_image: str, job: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(job.script())
        before = target.tree()
        target.sh(f"touch {SLOW}")
        target.stop_at("] CUDA ", signal.SIGKILL, 0.6)
        target.wait_until_idle()
        back = target.install("--rollback")
        assert back.exit_code == 0, back.stderr
        target.sh(f"rm {SLOW}")
        assert target.tree() == before
        again = target.install("--rollback")
        assert again.exit_code == 0 and "Nothing to undo" in again.stderr


def _stop_at_step(target: Machine, number: int, steps: int) -> bool:
    """Runs until step `number` begins, then stops the script; true when it was stopped and not finished."""
    how = signal.SIGKILL if number % 2 else signal.SIGINT
    done = target.stop_at(f"[{number}/{steps}]", how, 0.05)
    target.wait_until_idle()
    assert done.exit_code in (0, 130, 137, 128 + how.value), done.stderr
    return done.exit_code != 0
