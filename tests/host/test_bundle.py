"""The one file that runs on other machines is written whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from envkit.host import bundle as made
from envkit.host.bundle import bundle


def test_it_holds_the_program_and_nothing_is_left_next_to_it(tmp_path: Path) -> None:
    bundle(str(tmp_path / "envkit.pyz"))
    assert {"__main__.py", "envkit/__main__.py"} <= set(zipfile.ZipFile(tmp_path / "envkit.pyz").namelist())
    assert [path.name for path in tmp_path.iterdir()] == ["envkit.pyz"]


def test_an_error_leaves_the_old_file_and_no_half_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "envkit.pyz").write_text("old")
    monkeypatch.setattr(made, "_files", lambda: iter([(str(tmp_path / "nowhere.py"), "nowhere.py")]))
    with pytest.raises(FileNotFoundError):
        bundle(str(tmp_path / "envkit.pyz"))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("envkit.pyz", "old")]


@pytest.mark.parametrize("module", ["ctypes", "gettext"])
def test_a_python_without_its_whole_library_is_told_like_an_old_one(module: str, tmp_path: Path) -> None:
    """Exit status 2: the shell then collects in its place."""
    bundle(str(tmp_path / "envkit.pyz"))
    (tmp_path / f"{module}.py").write_text("raise ImportError")
    command = [sys.executable, str(tmp_path / "envkit.pyz"), "probe", "--json"]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
