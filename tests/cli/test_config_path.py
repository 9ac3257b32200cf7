"""The config file lies where platformdirs says, though Linux does without importing it."""

from __future__ import annotations

import platformdirs
import pytest

from envkit.cli.config import config_path


@pytest.mark.parametrize("folder", [None, "", " ", "/srv/config"])
def test_the_config_folder_is_the_platforms(folder: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVKIT_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if folder is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    assert config_path() == str(platformdirs.user_config_path("envkit") / "envkit.toml")
