"""What `envkit resolve` ends with is not refused by the command that it names."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from envkit.cli.main import main


def _commands(capsys: pytest.CaptureFixture[str], *options: str) -> list[list[str]]:
    assert main(["resolve", *options]) == 0
    lines = [shlex.split(line) for line in capsys.readouterr().out.splitlines() if line.startswith("  envkit ")]
    return [words[1:] for words in lines]


def test_the_container_of_a_plan_for_wsl_is_not_of_wsl(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    commands = _commands(capsys, "--framework", "tensorflow", "--os", "wsl", "--target", "any")
    [words] = [words for words in commands if words[0] == "dockerfile"]
    words[words.index("-o") + 1] = str(tmp_path / "Dockerfile")
    assert main(words) == 0


def test_the_install_command_names_no_cudnn_without_a_checksum(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--cuda", "13.4.1", "--os", "debian12", "--target", "any")
    [words] = [words for words in _commands(capsys, *options) if words[0] == "install"]
    assert "--cudnn" not in words
    [words] = [words for words in _commands(capsys, *options, "--cudnn", "9.27.0.42") if words[0] == "install"]
    assert words[words.index("--cudnn") + 1] == "9.27.0.42"
