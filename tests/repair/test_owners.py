"""Root starts nothing of an environment that a user could change, and what is run is what is shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.checks.engine.command import fixed, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.host import repairs
from envkit.host.bench import modules_of, run_measuring
from envkit.host.deep import deep
from envkit.host.repairs import Work
from envkit.model import Problem
from envkit.repair.plan import plan_for
from envkit.repair.run import as_run, profile_texts
from envkit.repair.steps import Step, step_of

SOMEBODY = 65534


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment whose Python leaves a file `ran` when it is started; its pip is an empty package."""
    monkeypatch.setenv("HOME", str(tmp_path))
    prefix = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", str(prefix)], check=True)
    [site] = prefix.glob("lib/python3*/site-packages")
    # no sitecustomize.py: some distributions have one of their own, which comes first
    (site / "ran.pth").write_text(f"import sys; open({str(tmp_path / 'ran')!r}, 'w')\n")
    (site / "pip").mkdir()
    (site / "pip" / "__init__.py").write_text("")
    return prefix


def site(prefix: Path) -> Path:
    [folder] = prefix.glob("lib/python3*/site-packages")
    return folder


def planned(prefix: Path) -> str:
    [step] = as_run([step_of(run(str(prefix / "bin" / "python"), "-m", "pip", "install", "numpy==1.26.4"))])
    return step.line


def _give_all(prefix: Path) -> None:
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)


def _path_file(prefix: Path) -> None:
    """An editable checkout of a user, from which modules would be imported too."""
    checkout = prefix.parent / "checkout"
    checkout.mkdir()
    os.chown(checkout, SOMEBODY, SOMEBODY)
    (site(prefix) / "checkout.pth").write_text(f"{checkout}\n")


SPOILT: dict[str, Callable[[Path], object]] = {
    "all": _give_all,
    "folder": lambda prefix: os.chown(prefix, SOMEBODY, SOMEBODY),
    "python": lambda prefix: os.chown(prefix / "bin" / "python", SOMEBODY, SOMEBODY),
    "site-packages": lambda prefix: os.chown(site(prefix), SOMEBODY, SOMEBODY),
    "site-packages-writable": lambda prefix: site(prefix).chmod(0o777),
    "a-module": lambda prefix: os.chown(site(prefix) / "ran.pth", SOMEBODY, SOMEBODY),
    "checkout": _path_file,
    "home": lambda prefix: prefix.parent.chmod(0o777),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
@pytest.mark.parametrize("how", SPOILT)
def test_root_refuses_what_a_user_could_change_and_starts_nothing(how: str, venv: Path) -> None:
    SPOILT[how](venv)
    with pytest.raises(EnvkitError, match="as its owner") as told:
        planned(venv)
    with pytest.raises(EnvkitError, match="as its owner"):
        repairs.packages_of((str(venv / "bin" / "python"), "-m", "pip"))
    assert modules_of(str(venv / "bin" / "python"), ["json"], {})[1].startswith("other users can change")
    assert run_measuring(str(venv / "bin" / "python"), "", {}, {}, 1).problem == "denied"
    tests = deep({**os.environ, "VIRTUAL_ENV": str(venv)}, 1)
    assert tests.problem is Problem.DENIED and "other users can change" in tests.detail
    assert "\n" not in str(told.value) and not (venv.parent / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_root_changes_no_profile_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".bashrc").write_text("export CUDA_HOME=/old\n")

    def planned_on() -> list[Step]:
        commands = tuple(map(fixed, ("unset CUDA_HOME", "export CUDA_HOME=/new")))
        finding = Finding("x", Status.FAIL, "x", remedy=Remedy("Do it.", commands))
        return [*plan_for(finding, *profile_texts()).steps]

    assert [step.runs for step in planned_on()] == [True, True]
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    assert [(step.runs, "do this as its owner" in step.reason) for step in planned_on()] == [(False, True)] * 2


def test_what_is_run_is_what_is_shown(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip where there is pip, even with a uv on PATH and a `pip.py` where envkit was started; otherwise uv, and so
    shown."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\necho 'Using Python 3.11.7 environment at: v8'\necho numpy==1.26.4\n")
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.py").write_text("raise SystemExit('of the working directory')\n")
    python = str(venv / "bin" / "python")
    assert planned(venv) == f"{python} -m pip install numpy==1.26.4"
    assert (tmp_path / "ran").exists()
    (site(venv) / "pip").rename(tmp_path / "gone")
    assert planned(venv) == f"uv pip install --python {python} numpy==1.26.4"
    assert repairs.packages_of((python, "-m", "pip")) == ["numpy==1.26.4"]


def test_only_packages_are_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ["numpy==1.26.4", "torch==2.6.0+cu124", "own @ file:///srv/own-1.0-py3-none-any.whl"]
    chatter = ["WARNING: pip is old", "Using Python 3.11.7 environment at: v8", "-e git+x@1#egg=y", "# a remark", ""]
    monkeypatch.setattr(repairs, "by_installer", lambda work: work)
    monkeypatch.setattr(repairs, "carry_out", lambda work: "\n".join([*chatter, *packages]))
    assert repairs.packages_of(Work(("python", "-m", "pip")).words) == packages
