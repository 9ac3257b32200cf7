"""A signal at any moment of writing leaves the old file and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envkit.base.errors import OutputError
from envkit.cli.output import write_file
from envkit.host.new_folder import new_folder
from envkit.host.stops import Stopped
from envkit.host.whole_file import replaceable, replacing, take_mode


def _write(folder: Path) -> None:
    with replacing(str(folder / "report.txt")) as stream:
        stream.write(b"new")


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


def test_who_swaps_the_new_file_for_a_link_reaches_no_other_file(tmp_path: Path) -> None:
    """As the owner of the folder can at any moment, while root writes a report there."""
    secret = tmp_path / "secret"
    secret.write_text("old")
    secret.chmod(0o600)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "report.txt").write_text("old")
    (folder / "report.txt").chmod(0o666)
    with replacing(str(folder / "report.txt")) as stream:
        [new] = (path for path in folder.iterdir() if path.name != "report.txt")
        new.unlink()
        new.symlink_to(secret)
        stream.write(b"new")
        stream.flush()
        take_mode(stream, str(folder / "report.txt"))
    assert secret.read_text() == "old" and secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")
def test_neither_the_mode_nor_the_link_of_another_user_is_taken_over(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    target, link, open_file = tmp_path / "target", shared / "link.json", shared / "open.json"
    target.write_text("old")
    link.symlink_to(target)
    open_file.write_text("old")
    open_file.chmod(0o666)
    for path in (link, open_file):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(OutputError, match="another user's link"):
        write_file("new", str(link))
    write_file("new", str(open_file))
    assert target.read_text() == "old" and open_file.read_text() == "new\n"
    assert open_file.stat().st_mode & 0o022 == 0
