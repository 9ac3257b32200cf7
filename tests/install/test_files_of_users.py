"""Whatever state a run has left an installation in, taking it back deletes nothing of the people who work there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted, small
from tests.install.shell import call
from tests.install.test_together import wheel

PYTHON = "{}.{}".format(*sys.version_info)
BROKEN = "raise ImportError('a library of CUDA is missing')\n"
SLOW = "import time\ntime.sleep(60)\n"


def own_environment(folder: Path) -> Path:
    """The script that installs a small package named jax into an environment in `folder`, with Python from here."""
    text = scripted(small("jax", PYTHON), ScriptOptions(env_dir=str(folder / "env")), Mirrors())
    script = folder / "install.sh"
    script.write_text(text.replace("prerequisites_are_met() {\n", "prerequisites_are_met() {\n  return 0\n"))
    return script


def settings(folder: Path) -> dict[str, str]:
    """Places of its own for records, and no package but those in `folder`. Packages of the system are not asked for."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    places = {"ENVKIT_STATE_DIR": "state", "ENVKIT_LOG_DIR": "log", "PIP_FIND_LINKS": "wheels", "HOME": "home"}
    own = {name: str(folder / place) for name, place in places.items()}
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, **own, "PIP_NO_INDEX": "1", "PATH": path}


def run(script: Path, *options: str) -> dict[str, Any]:
    """What the script says at its end; every file that is deleted by mistake is this test's own."""
    done = subprocess.run(
        ["bash", str(script), "--any-os", "--no-space-check", *options],
        env=settings(script.parent),
        capture_output=True,
        text=True,
        check=False,
    )
    return {**json.loads(done.stdout), "stderr": done.stderr}


def module(folder: Path, text: str) -> None:
    """The package whose import does this; also a folder next to Python's, as some packages bring one."""
    wheel(folder / "wheels", "jax", "1.0")
    with ZipFile(folder / "wheels/jax-1.0-py3-none-any.whl", "a") as file:
        file.writestr("jax.py", text)
        file.writestr("jax-1.0.data/data/etc/jax.conf", "")
        file.writestr("jax-1.0.data/data/extra-of-jax/a", "")


def work_there(folder: Path) -> None:
    """What somebody does in an environment for weeks."""
    (folder / "env/data").mkdir(parents=True)
    (folder / "env/mine.txt").write_text("precious\n")
    (folder / "env/data/model.onnx").write_text("precious too\n")


def left(folder: Path) -> list[str]:
    """The files in the environment."""
    return sorted(str(path.relative_to(folder / "env")) for path in (folder / "env").rglob("*") if not path.is_dir())


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "code"), [("", 0), (BROKEN, 9)], ids=["complete", "not verified"])
def test_files_in_an_environment_stay_however_its_verification_ended(text: str, code: int, tmp_path: Path) -> None:
    module(tmp_path, text)
    script = own_environment(tmp_path)
    assert (done := run(script))["exit_code"] == code, done
    work_there(tmp_path)
    again = run(script)  # reports the same, and takes nothing for its own
    assert again["exit_code"] == code
    back = run(script, "--rollback")
    assert left(tmp_path) == ["data/model.onnx", "mine.txt"], back
    assert "keeps files that this script did not put there: data, mine.txt." in back["message"], back
    assert not (tmp_path / "state").exists()


@pytest.mark.thorough
def test_files_stay_where_the_framework_could_not_be_installed_and_is_installed_later(tmp_path: Path) -> None:
    script = own_environment(tmp_path)
    assert run(script)["exit_code"] == 1  # there is no such package
    work_there(tmp_path)
    module(tmp_path, "")
    assert (done := run(script))["exit_code"] == 0, done
    assert run(script, "--rollback")["exit_code"] == 0
    assert left(tmp_path) == ["data/model.onnx", "mine.txt"]


@pytest.mark.thorough
@pytest.mark.parametrize("back", [True, False], ids=["rollback", "resumed first"])
def test_files_stay_where_python_itself_could_not_be_installed(back: bool, tmp_path: Path) -> None:
    """Ended by a signal or by its own fault half way, and tried again where people have put files since."""
    module(tmp_path, "")
    script = own_environment(tmp_path)
    whole = script.read_text()
    stops = whole.replace('-m venv "$ENV_DIR" ||', '-m venv "$ENV_DIR" && false ||', 1)
    assert stops != whole
    script.write_text(stops)
    assert run(script)["exit_code"] == 1
    work_there(tmp_path)
    script.write_text(whole)
    if not back:
        assert (done := run(script))["exit_code"] == 0, done
    assert run(script, "--rollback")["exit_code"] == 0
    assert left(tmp_path) == ["data/model.onnx", "mine.txt"]


@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["bin/python", "bin/pip", "extra-of-jax"])
def test_files_stay_after_a_kill_and_nothing_else(moment: str, tmp_path: Path) -> None:
    """No record of how the step ended is on the disk."""
    module(tmp_path, SLOW)
    script = own_environment(tmp_path)
    with subprocess.Popen(
        ["bash", str(script), "--any-os", "--no-space-check"],
        env=settings(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as killed:
        end = time.monotonic() + 60
        while not (tmp_path / "env" / moment).exists() and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(killed.pid, signal.SIGKILL)
    work_there(tmp_path)
    assert run(script, "--rollback")["exit_code"] == 0
    assert [name for name in left(tmp_path) if "jax" not in name] == ["data/model.onnx", "mine.txt"]


@pytest.mark.thorough
def test_without_files_of_others_all_of_it_goes(tmp_path: Path) -> None:
    module(tmp_path, BROKEN)
    script = own_environment(tmp_path)
    assert run(script)["exit_code"] == 9
    assert "are as before" in run(script, "--rollback")["message"] and not (tmp_path / "env").exists()


TOOLKIT = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
# An installer that was started in a directory of its own, and a file that somebody adds when the step has ended.
STEP = """
TOOLKIT_DIR={folder}/cuda SYSTEM_WIDE=0 LOADER_FILE={folder}/loader
step_is_done() {{ false; }}
step_do() {{ claim_folder "$TOOLKIT_DIR"; mkdir -p "$TOOLKIT_DIR/bin"; : >"$TOOLKIT_DIR/bin/nvcc"; {ends}; }}
(trap on_exit EXIT; run_step 1 toolkit Toolkit) || true
mkdir -p "$TOOLKIT_DIR/mine"; : >"$TOOLKIT_DIR/mine/data"
"""


@pytest.mark.parametrize(
    "ends", ["step_is_done() { true; }", 'fail 1 "its archive is broken"', "exit 130", "kill -9 $BASHPID"]
)
def test_files_in_a_toolkit_stay_however_its_step_ended(ends: str, tmp_path: Path) -> None:
    done = call(TOOLKIT, STEP.format(folder=tmp_path, ends=ends) + "roll_back", tmp_path)
    assert done.returncode == 0, done
    assert [path.name for path in (tmp_path / "cuda").rglob("*") if path.is_file()] == ["data"], done.stderr
    assert "keeps files that this script did not put there: mine/data." in done.stderr


def test_files_in_a_toolkit_that_replaced_another_are_kept_next_to_it(tmp_path: Path) -> None:
    before = f"mkdir -p {tmp_path}/cuda; echo old >{tmp_path}/cuda/version.txt\n"
    step = STEP.format(folder=tmp_path, ends=":").replace("claim_folder", 'move_aside "$TOOLKIT_DIR"; claim_folder')
    done = call(TOOLKIT, before + step + "roll_back", tmp_path)
    assert (tmp_path / "cuda/version.txt").read_text() == "old\n", done
    assert (tmp_path / "cuda.envkit-kept.1/mine/data").exists() and "envkit-kept.1" in done.stderr
