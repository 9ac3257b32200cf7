"""The config file lies where platformdirs says, though Linux does without importing it."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from envkit.base.errors import LimitError, SourceError
from envkit.base.settings import Mirrors
from envkit.cli.config import config_path, configured_mirrors


@pytest.mark.parametrize(
    "variables",
    [{"HOME": "."}, {"HOME": "home", "XDG_CONFIG_HOME": "config"}, {"HOME": "", "XDG_CONFIG_HOME": "."}],
)
def test_the_working_folder_configures_nothing(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever filled the folder that somebody works in would choose where packages come from."""
    monkeypatch.delenv("ENVKIT_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for folder in (".config", "config", "home/.config", "."):
        (tmp_path / folder / "envkit").mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "envkit/envkit.toml").write_text('[mirrors]\nindex-url = "https://evil.example"\n')
    assert configured_mirrors() == Mirrors()


def test_a_config_file_is_named_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVKIT_CONFIG", "envkit.toml")
    with pytest.raises(SourceError, match="is not an absolute path"):
        config_path()


def test_a_config_file_is_read_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVKIT_CONFIG", str(tmp_path / "envkit.toml"))
    for text, words in ((".".join("a" * 20_000) + " = 1\n", "reading it takes over"), ("#" * 1_000_001, "larger")):
        (tmp_path / "envkit.toml").write_text(text)
        with pytest.raises((SourceError, LimitError), match=words):
            configured_mirrors()
    (tmp_path / "envkit.toml").unlink()
    os.mkfifo(tmp_path / "envkit.toml")
    with pytest.raises(SourceError, match="a pipe"):
        configured_mirrors()


@pytest.mark.parametrize("folder", [None, "", " ", "/srv/config"])
def test_the_config_folder_is_the_platforms(folder: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVKIT_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if folder is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert config_path() == str(platformdirs.user_config_path("envkit") / "envkit.toml")
