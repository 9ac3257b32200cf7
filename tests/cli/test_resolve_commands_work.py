"""What `envkit resolve` ends with is not refused by the command that it names."""

from __future__ import annotations

import shlex
from pathlib import Path

from click.testing import CliRunner

from envkit.cli.main import envkit


def _printed(*words: str) -> str:
    done = CliRunner().invoke(envkit, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def _commands(*options: str) -> list[list[str]]:
    lines = _printed("resolve", *options).splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("  envkit ")]


def test_the_container_of_a_plan_for_wsl_is_not_of_wsl(tmp_path: Path) -> None:
    commands = _commands("--framework", "tensorflow", "--os", "wsl", "--target", "any")
    [words] = [words for words in commands if words[0] == "dockerfile"]
    words[words.index("-o") + 1] = str(tmp_path / "Dockerfile")
    _printed(*words)
    assert "FROM ubuntu" in (tmp_path / "Dockerfile").read_text()


def test_the_install_command_names_no_cudnn_without_a_checksum() -> None:
    options = ("--cuda", "13.4.1", "--os", "debian12", "--target", "any")
    [words] = [words for words in _commands(*options) if words[0] == "install"]
    assert "--cudnn" not in words
    [words] = [words for words in _commands(*options, "--cudnn", "9.27.0.42") if words[0] == "install"]
    assert words[words.index("--cudnn") + 1] == "9.27.0.42"
