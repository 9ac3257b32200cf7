"""The deep tests: run in the user's interpreter, each step reported, a crash named."""

from __future__ import annotations

import ast
import os
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from envkit.facts import Measurement, Problem
from envkit.host.local import LocalHost
from envkit.probe.deep import measurements
from tests.fakes.memory_host import MemoryHost

TORCH = """
__version__ = "9.9.9"
class _Cuda:
    @staticmethod
    def is_available():
        {body}
cuda = _Cuda()
print("a library that talks on standard output")
"""


def _environment(folder: Path, body: str) -> LocalHost:
    """A virtual environment whose python finds a stand-in torch; no TensorFlow, no JAX, no libcuda."""
    (folder / "modules").mkdir()
    (folder / "modules" / "torch.py").write_text(TORCH.format(body=body))
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return LocalHost({**inherited, "VIRTUAL_ENV": str(folder), "PYTHONPATH": str(folder / "modules")})


def _by_step(found: tuple[Measurement, ...]) -> dict[str, Measurement]:
    return {item.name: item for item in found}


def test_without_a_device_the_import_passes_and_the_rest_is_not_judged(tmp_path: Path) -> None:
    steps = _by_step(measurements(_environment(tmp_path, "return False"), 60.0).get())
    assert (steps["import"].passed, steps["import"].subject, steps["import"].detail) == (True, "torch", "9.9.9")
    assert steps["import"].unit == "s" and steps["import"].value is not None
    assert steps["device"].passed is None
    assert steps["copy"].passed is None and "libcuda" in steps["copy"].detail


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no kernel image is available')", "no kernel image is available"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    ],
)
def test_a_failing_step_is_named_with_its_last_words(tmp_path: Path, body: str, words: str) -> None:
    steps = _by_step(measurements(_environment(tmp_path, body), 60.0).get())
    assert steps["import"].passed is True
    assert steps["device"].passed is False and words in steps["device"].detail


def test_a_step_that_hangs_is_given_up(tmp_path: Path) -> None:
    steps = _by_step(measurements(_environment(tmp_path, "import time; time.sleep(600)"), 4.0).get())
    assert steps["run"].passed is False and "no answer" in steps["run"].detail


def test_a_module_in_the_working_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "torch.py").write_text("raise SystemExit('shadowed')")
    host = _environment(tmp_path, "return False")
    monkeypatch.chdir(tmp_path / "here")
    assert _by_step(measurements(host, 60.0).get())["import"].passed is True


def test_a_recorded_machine_may_have_no_measurements() -> None:
    assert measurements(MemoryHost({}), 1.0).problem is Problem.NOT_LOOKED
    broken = MemoryHost({}, queries={"deep": {"measurements": "none"}})
    assert measurements(broken, 1.0).problem is Problem.UNPARSABLE


def test_the_code_is_read_by_old_pythons_too() -> None:
    """Frameworks of 2018 run on Python 3.6, and so must the test of them."""
    code = files("envkit.host").joinpath("deep_child.py").read_text("utf-8")
    tree = ast.parse(code, feature_version=(3, 6))
    imported = {
        alias.name.split(".")[0] for item in ast.walk(tree) if isinstance(item, ast.Import) for alias in item.names
    }
    assert imported <= {"ctypes", "importlib", "json", "os", "sys", "time"}, "it runs without envkit"
