"""A file of `-o` holds the same text whatever terminal the command runs on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.cli.terminal import Paper, paper
from tests.advice.judging import envkit
from tests.fakes.machines import MACHINES

CLI = Path(__file__).parents[2] / "envkit" / "cli"
LOST, WHOLE = str(MACHINES / "ubuntu22.04-8xh100-lost-gpu"), str(MACHINES / "ubuntu22.04-8xh100-550")


@pytest.mark.parametrize(
    "words",
    [
        ("recommend", "RTX 4090", "RTX 3090", "--network", "resnet-50"),
        ("recommend", "machine", "--gpu", "RTX 3090 x2", "--psu", "1000", "--slots", "x16,x4"),
        ("diff", WHOLE, LOST),
        ("fleet", "diff", WHOLE, LOST),
        ("fleet", "report", WHOLE, LOST),
        ("doctor", "--from", LOST),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_file_is_the_same_from_a_narrow_terminal_without_letters(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, narrow = tmp_path / "wide.txt", tmp_path / "narrow.txt"
    envkit(*words, "-o", str(wide))
    monkeypatch.setattr("envkit.cli.terminal.text_width", lambda: 40)
    monkeypatch.setattr("envkit.cli.terminal.wants_color", lambda: True)
    monkeypatch.setattr("envkit.cli.terminal.in_its_letters", lambda text: text.encode("ascii", "replace").decode())
    envkit(*words, "-o", str(narrow))
    assert wide.read_text("utf-8") == narrow.read_text("utf-8") != ""


def test_only_one_place_asks_the_terminal() -> None:
    for file in CLI.glob("*.py"):
        asked = re.findall(r"\b(?:text_width|in_its_letters)\(", file.read_text("utf-8"))
        assert not asked or file.name == "terminal.py", file.name


def test_a_terminal_is_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envkit.cli.terminal.text_width", lambda: 57)
    monkeypatch.setattr("envkit.cli.terminal.wants_color", lambda: True)
    assert paper(to_file=False) == Paper(57, True, False)
    assert not paper(to_file=True).color
