"""A signal at any moment of writing leaves the old file and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envkit.host.new_folder import new_folder
from envkit.host.stops import Stopped
from envkit.host.whole_file import replaceable, replacing


def _write(folder: Path) -> None:
    with replacing(str(folder / "report.txt")) as new:
        Path(new).write_text("new")


def _make(folder: Path) -> None:
    with new_folder(str(folder / "box")) as box:
        box.write("facts.json", b"{}")


def _try(folder: Path) -> None:
    replaceable(str(folder / "report.txt"))


@pytest.mark.parametrize("work", [_write, _make, _try])
@pytest.mark.parametrize("call", ("open", "close", "mkdir"))
def test_a_signal_right_after_a_call_leaves_nothing(
    work: Callable[[Path], None], call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.txt").write_text("old")
    real = getattr(os, call)

    def told(*words: Any, **options: Any) -> Any:  # noqa: ANN401
        monkeypatch.setattr(os, call, real)
        real(*words, **options)
        raise Stopped(15)

    monkeypatch.setattr(os, call, told)
    try:
        work(tmp_path)
    except Stopped:
        assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]
        assert (tmp_path / "report.txt").read_text() == "old"


def test_a_file_takes_the_old_ones_place(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("old")
    _write(tmp_path)
    _try(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]
    assert (tmp_path / "report.txt").read_text() == "new"
