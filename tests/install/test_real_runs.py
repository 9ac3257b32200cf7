"""The script run for real in containers, with stand-in runfiles that obey each installer style's options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import machine

pytestmark = pytest.mark.docker


def test_a_clean_run_then_nothing_to_do_then_rollback_to_the_tree_from_before(
    engine: Engine, target_image: str, job: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(job.script())
        before, sums = target.tree(), target.sums()

        first = target.install()
        assert first.exit_code == 0, first.stderr
        assert set(first.states.values()) <= {"done", "unchanged"}, first.states
        assert "fail" not in first.verdicts.values(), first.verdicts
        assert first.verdicts["toolkit"] == "ok"
        installed = target.tree()

        second = target.install()
        assert second.exit_code == 0, second.stderr
        assert second.changed_nothing
        assert target.tree() == installed

        back = target.install("--rollback")
        assert back.exit_code == 0, back.stderr
        assert target.tree() == before
        assert target.sums() == sums
