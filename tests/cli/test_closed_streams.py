"""A standard stream that was closed before the start is None in Python: no command takes it for a terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import envkit
from envkit.cli import fix, install_run, reading, terminal

_CODE = Path(envkit.__file__).parent


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)


def test_nobody_is_asked_and_nothing_is_drawn() -> None:
    assert not fix._can_ask() and not terminal.wants_color() and terminal.terminal_width() is None
    with install_run.display() as tell:
        assert callable(tell)
    with reading.reading(10_000_000) as progress:
        progress(0.5)


def test_one_function_asks_whether_a_stream_is_a_terminal() -> None:
    asking = re.compile(r"(?<!\bos)\.isatty\(")  # of a stream; host/ asks about a descriptor
    files = {str(path.relative_to(_CODE)) for path in _CODE.rglob("*.py") if asking.search(path.read_text())}
    assert files == {"cli/terminal.py"}
