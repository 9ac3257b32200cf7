"""A capture that anybody may have sent: regular files alone, no links, and no more of them than it is worth."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.errors import SourceError
from envkit.capture import folder as capture_folder
from envkit.capture.replay import CaptureHost
from envkit.model import Problem
from tests.security.limits import envkit_measured


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "machine.json").write_text('{"schema": 1, "complete": true}')
    return folder


@pytest.mark.parametrize("name", ["machine.json", "files.json", "answers.json", "facts.json"])
@pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "other.json"])
def test_a_document_that_is_a_link_is_refused_in_one_line(capture: Path, name: str, target: str) -> None:
    (capture / "other.json").write_text('{"schema": 1}')
    (capture / name).unlink(missing_ok=True)
    (capture / name).symlink_to(target)
    with pytest.raises(SourceError, match=f"{name} cannot be read: a link"):
        CaptureHost(str(capture))


def test_a_tree_that_is_a_link_is_refused(capture: Path) -> None:
    """Its report would describe the machine of who reads it."""
    (capture / "tree").symlink_to("/")
    with pytest.raises(SourceError, match="tree/ cannot be read: a link"):
        CaptureHost(str(capture))


def test_links_in_the_tree_lead_through_the_tree_alone(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the reader")
    (capture / "tree/etc").mkdir(parents=True)
    (capture / "tree/etc/os-release").write_text("ID=debian\n")
    (capture / "tree/etc/up").symlink_to("../../../secret")
    (capture / "tree/etc/absolute").symlink_to(tmp_path / "secret")
    (capture / "tree/etc/good").symlink_to("os-release")
    host = CaptureHost(str(capture))
    assert [host.read_text(f"/etc/{name}").value for name in ("up", "absolute", "good")] == [None, None, "ID=debian\n"]


def test_a_folder_that_becomes_a_link_after_the_look_is_not_followed(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/os-release").write_text("ID=outside\n")
    (capture / "tree/etc").mkdir(parents=True)
    (capture / "tree/etc/os-release").write_text("ID=debian\n")
    host = CaptureHost(str(capture))
    (capture / "tree/etc").rename(capture / "gone")
    (capture / "tree/etc").symlink_to(tmp_path / "outside")
    assert host.read_text("/etc/os-release").problem is Problem.UNPARSABLE


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [_pipe, _socket])
def test_pipes_and_sockets_do_not_keep_the_reader(capture: Path, make: Callable[[Path], None]) -> None:
    (capture / "tree/etc").mkdir(parents=True)
    make(capture / "tree/etc/os-release")
    began = time.monotonic()
    host = CaptureHost(str(capture))
    assert host.read_text("/etc/os-release").problem is Problem.UNPARSABLE
    make(capture / "files.json")
    with pytest.raises(SourceError, match="files.json cannot be read: not a regular file"):
        CaptureHost(str(capture))
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 150 + "1" + "}" * 150,
        "[" + "1," * 400_000 + "1]",
        '{"/x": {"size": ' + "9" * 400 + "}}",
        '"' + "x" * 17_000_000 + '"',
    ],
    ids=["open", "deep", "many", "number", "long"],
)
def test_a_document_beyond_reason_is_refused_in_one_line(capture: Path, text: str) -> None:
    for name in ("paths.json", "nvml.json", "facts.json"):
        (capture / name).write_text(text)
        with pytest.raises(SourceError) as caught:
            CaptureHost(str(capture))
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
        (capture / name).unlink()


def test_a_tree_of_holes_is_read_as_far_as_it_is_asked(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 kB on disk that stand for 12 GB."""
    monkeypatch.setattr(capture_folder, "_MOST_READ", 4_000_000)
    site = capture / "tree/opt/venv/lib/python3.11/site-packages"
    (site / "torch/lib").mkdir(parents=True)
    for index in range(40):
        with (site / f"torch/lib/lib{index}.so").open("wb") as stream:
            stream.truncate(300_000_000)
    host = CaptureHost(str(capture))
    began = time.monotonic()
    folder = "/opt/venv/lib/python3.11/site-packages/torch/lib"
    reads = [host.read_bytes(f"{folder}/lib{index}.so", 1_000_000) for index in range(40)]
    assert time.monotonic() - began < 5.0
    assert sum(read.known for read in reads) == 4
    assert "more was read" in reads[-1].detail


@pytest.mark.parametrize(("folders", "depth"), [(60, 1), (1, 60)])
def test_a_tree_beyond_reason_is_refused(
    capture: Path, folders: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_folder, "_MOST_ENTRIES", 50 * depth)
    for index in range(folders):
        path = capture / "tree" / "/".join([str(index)] * depth)
        path.mkdir(parents=True)
    with pytest.raises(SourceError, match="more files or directories"):
        CaptureHost(str(capture))


@pytest.mark.thorough
def test_the_program_stays_small_with_the_largest_capture_that_it_takes(capture: Path) -> None:
    big = {f"/opt/x{index}": "é" * 30 for index in range(140_000)}
    (capture / "files.json").write_text(json.dumps(big, ensure_ascii=False), "utf-8")
    measured = envkit_measured("doctor", "--from", str(capture))
    assert measured.exit_code in (0, 1), measured
    assert measured.processor_seconds < 10 and measured.megabytes < 300, measured
