"""The user's config file: `envkit.toml` in the platform's config folder, or the file that ENVKIT_CONFIG names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from envkit.errors import SourceError
from envkit.settings import Mirrors

if TYPE_CHECKING:
    from collections.abc import Mapping


def config_path() -> str:
    """Where the config file is looked for."""
    named = os.environ.get("ENVKIT_CONFIG")
    if named:
        return named
    if sys.platform == "linux":  # what platformdirs says there; importing it takes as long as reading all tables
        folder = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return os.path.join(folder, "envkit", "envkit.toml")
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("envkit"), "envkit.toml")


def configured_mirrors() -> Mirrors:
    """The `[mirrors]` table of the config file, or no mirrors. Raises SourceError for a file that cannot be read.

    Keys: `index-url`, `apt`, `yum`, and a table `hosts` of HOST = "URL".
    """
    path = config_path()
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        return Mirrors()
    except OSError as error:
        raise SourceError(
            f"config file {path}: {error.strerror}.", "Mend it or name another with ENVKIT_CONFIG."
        ) from error
    table = _parse(text, path).get("mirrors", {})
    return Mirrors(
        hosts={str(host): str(url) for host, url in table.get("hosts", {}).items()},
        index_url=table.get("index-url"),
        apt=table.get("apt"),
        yum=table.get("yum"),
    )


def _parse(text: str, path: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"config file {path}: {error}.", "Mend that line.") from error
    return table
