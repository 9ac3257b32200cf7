"""A run with nothing to do repeats the verdicts of the last trial, and tries again as soon as anything has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.engine.engine import Engine
from tests.install.conftest import Job
from tests.install.machine import machine
from tests.install.plans import plan, scripted
from tests.install.shell import call

LIMIT_S = 3.0  # of processor time, as the machine may be busy

# A whole environment; each trial is noted, and comes to this verdict.
STATE = """
ENV_DIR={folder}/env; mkdir -p $ENV_DIR/lib; echo 1 >$ENV_DIR/lib/module.py; ln -s module.py $ENV_DIR/lib/link.py
SYSTEM_WIDE=0; mkdir -p $SYSROOT/dev $SYSROOT/sys/module/nvidia
verify_all() {{ echo tried; VERIFY_RESULTS='{{"name": "torch"}}'; }}
environment_names() {{ :; }}
again() {{ VERIFY_RESULTS=; STEP_RESULTS=${{1:-}}; verify_and_note; }}
again >/dev/null; sleep 0.01
"""


def tried(folder: Path, body: str) -> tuple[bool, str]:
    """Whether a run after `body` tries all again, and what it says."""
    found = plan(framework="pytorch")
    script = scripted(replace(found, choice=replace(found.choice, needs_toolkit=False)), ScriptOptions(), Mirrors())
    done = call(script, STATE.format(folder=folder) + body + '\necho "results: $VERIFY_RESULTS"', folder)
    assert done.returncode == 0, done
    return done.stdout.startswith("tried"), done.stdout + done.stderr


def test_where_nothing_has_changed_the_verdicts_stand(tmp_path: Path) -> None:
    again, said = tried(tmp_path, "again")
    assert not again and 'results: {"name": "torch"}, {"name": "unchanged", "status": "ok"' in said
    assert "--verify-only tries it again" in said


@pytest.mark.parametrize(
    "change",
    [
        "echo 2 >$ENV_DIR/lib/module.py; again",  # of the same size
        "rm $ENV_DIR/lib/module.py; again",
        "echo >$ENV_DIR/lib/torch.py; again",
        "ln -sfn nowhere $ENV_DIR/lib/link.py; again",
        "chmod 600 $ENV_DIR/lib/module.py; again",
        "touch $SYSROOT/dev/nvidia0; again",  # a GPU has come
        "echo 595.45.04 >$SYSROOT/sys/module/nvidia/version; again",
        "rm $STATE_DIR/verified; again",
        """again '{"id": "framework-pytorch", "state": "done"}'""",
    ],
)
def test_any_change_has_all_tried_again(change: str, tmp_path: Path) -> None:
    assert tried(tmp_path, change)[0]


def test_what_python_itself_writes_is_no_change(tmp_path: Path) -> None:
    assert not tried(tmp_path, "mkdir $ENV_DIR/lib/__pycache__; : >$ENV_DIR/lib/__pycache__/module.pyc; again")[0]


def test_a_trial_that_failed_is_repeated(tmp_path: Path) -> None:
    fails = "verify_all() { echo tried; return 9; }; rm $STATE_DIR/verified; (again) >/dev/null || true"
    assert tried(tmp_path, f"{fails}\n[[ ! -f $STATE_DIR/verified ]]; verify_all() {{ echo tried; }}; again")[0]


@pytest.mark.docker
def test_a_second_run_is_quick_and_a_spoiled_file_is_found(
    engine: Engine, target_image: str, new: Job, tmp_path: Path
) -> None:
    with machine(engine, target_image, tmp_path) as target:
        target.put(new.script())
        first = target.install()
        assert first.exit_code == 0 and "unchanged" not in first.verdicts, first.stderr
        took = target.sh("TIMEFORMAT='%U %S'; { time bash /job/install.sh >/job/second 2>/dev/null; } 2>&1")
        assert sum(map(float, took.split())) < LIMIT_S
        second = target.install()
        assert second.changed_nothing and second.verdicts == {**first.verdicts, "unchanged": "ok"}
        target.sh("rm /usr/local/cuda-12.4/lib64/libcublas.so.12.4.1")
        third = target.install()
        assert third.exit_code == 9 and third.verdicts["files"] == "fail"
