"""Long texts: what a person at a terminal sees while they are read, and nobody else."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from envkit.cli.environment import recorded
from envkit.cli.reading import reading


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def an_hour_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(10**6))
    monkeypatch.setattr(time, "monotonic", lambda: 3600.0 * next(looks))


@pytest.mark.usefixtures("an_hour_a_look")
def test_a_terminal_shows_how_far_a_long_text_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    path = tmp_path / "long.txt"
    path.write_text("step 1 loss 0.1\n" * 1000)
    recorded(str(path))
    said = terminal.getvalue().split("\r\x1b[K")
    shares = [int(line.rpartition(" ")[2].rstrip("%")) for line in said if line]
    assert said[1].startswith("Reading 1 MB of text: ")
    assert len(shares) > 20
    assert shares == sorted(shares)
    assert said[-1] == "", "the line goes before the report"


@pytest.mark.usefixtures("an_hour_a_look")
def test_a_file_or_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with reading(60_000_000) as progress:
        progress(0.5)
    assert pipe.getvalue() == ""


def test_what_is_read_at_once_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with reading(60_000_000) as progress:
        progress(0.5)
    assert terminal.getvalue() == ""
