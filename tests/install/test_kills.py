"""Killed at random moments, a script goes on or takes everything back, and the machine's tree is the same to the file.

CI kills a few dozen times; ENVKIT_KILLS=200 asks for as many, and ENVKIT_SEED for other moments than the last time's.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import RELEASES, Job
from tests.install.machine import Machine, machine, without_notes
from tests.install.test_neighbors import in_an_environment
from tests.install.test_together import wheel

pytestmark = pytest.mark.docker

PLANS = (*RELEASES, "environment")  # a toolkit of each style, with patches and cuDNN; and Python packages
KILLS = int(os.environ.get("ENVKIT_KILLS", "24"))
SEED = os.environ.get("ENVKIT_SEED", "1")
_PLACES = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/job/wheels"}


@pytest.mark.parametrize("name", PLANS)
def test_a_kill_at_any_moment_costs_nothing(
    engine: Engine, target_image: str, job_of: Callable[[str], Job], name: str, tmp_path: Path
) -> None:
    """Resumed or rolled back in turn; a rollback after a resume is killed as well, and repeated."""
    moments = random.Random(f"{SEED} {name}")
    options = ScriptOptions(modules="/opt/modulefiles")
    script = in_an_environment("jax") if name == "environment" else job_of(name).script(options)
    wheel(tmp_path / "wheels", "jax", "1.0", module=True)
    with machine(engine, target_image, tmp_path) as target:
        target.put(script)
        before = target.tree()
        took = _seconds(target)
        wanted = _compared(target.tree())
        back = _seconds(target, "--rollback")
        assert target.tree() == before
        number = PLANS.index(name)
        wanted_kills = KILLS // len(PLANS) + (number < KILLS % len(PLANS))
        kills = 0
        while kills < wanted_kills:
            _kill_after(target, moments.uniform(0, took), group=moments.random() < 0.5)
            kills += 1
            if moments.random() < 0.5 and kills < wanted_kills:
                _finish(target)
                assert _compared(target.tree()) == wanted, kills
                _kill_after(target, moments.uniform(0, back), "--rollback", group=moments.random() < 0.5)
                kills += 1
            _finish(target, "--rollback")
            assert target.tree() == before, kills
        print(f"{name}: {kills} kills, seed {SEED}")


def _compared(tree: dict[str, str]) -> dict[str, str]:
    """Without the script's notes, and without what Python notes in its caches: when each source was written."""
    kept = without_notes(tree)
    return {path: what.rpartition(" ")[0] if path.endswith(".pyc") else what for path, what in kept.items()}


def _finish(target: Machine, *options: str) -> None:
    done = target.install(*options, environment=_PLACES)
    assert done.exit_code == 0, done.stderr


def _seconds(target: Machine, *options: str) -> float:
    started = time.monotonic()
    _finish(target, *options)
    return time.monotonic() - started


def _kill_after(target: Machine, seconds: float, *options: str, group: bool) -> None:
    """Starts the script, and kills it, or it and all that it has started, after that time."""
    settings = " ".join(f"{name}={value}" for name, value in _PLACES.items())
    target.sh(
        f"set -m; {settings} bash /job/install.sh {' '.join(options)} >/dev/null 2>&1 & "
        f"sleep {seconds:.3f}; kill -9 -- {'-' if group else ''}$! 2>/dev/null || true; wait || true"
    )
    target.wait_until_idle()
