"""The one file that runs on other machines is written whole or not at all."""

from __future__ import annotations

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
