"""The user's config file: `envkit.toml` in the platform's config folder, or the file that ENVKIT_CONFIG names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from envkit.base.errors import SourceError, did_you_mean
from envkit.base.settings import Mirrors, is_host, is_url

if TYPE_CHECKING:
    from collections.abc import Mapping


_LIMIT = 1_000_000  # bytes


def config_path() -> str | None:
    """Where the config file is looked for; None where that would be below the working folder, whoever filled that.

    Raises SourceError for an ENVKIT_CONFIG that is not absolute, or names no file.
    """
    named = os.environ.get("ENVKIT_CONFIG")
    if named:
        if not os.path.isabs(named):
            raise SourceError(f"ENVKIT_CONFIG: {named} is not an absolute path.", "Set it to one that begins with /.")
        if not os.path.lexists(named):
            raise SourceError(f"ENVKIT_CONFIG: {named} does not exist.", "Create it, or unset the variable.")
        return named
    if sys.platform == "linux":  # what platformdirs says there; importing it takes as long as reading all tables
        folder = os.environ.get("XDG_CONFIG_HOME", "").strip()
        if not os.path.isabs(folder):  # which the XDG Base Directory Specification says to ignore
            folder = os.path.expanduser("~/.config")
    else:
        from platformdirs import user_config_dir

        folder = user_config_dir()
    return os.path.join(folder, "envkit", "envkit.toml") if os.path.isabs(folder) else None


def configured_mirrors() -> Mirrors:
    """The `[mirrors]` table of the config file, or no mirrors. Raises SourceError for a file that cannot be used.

    Keys: `index-url`, `apt`, `yum`, and a table `hosts` of HOST = "URL".
    """
    path = config_path()
    text = _read(path) if path else None
    if path is None or text is None:
        return Mirrors()
    document = _parse(text, path)
    _refuse_unknown(document, ("mirrors",), path)
    table = _table(document, "mirrors", path)
    _refuse_unknown(table, ("index-url", "apt", "yum", "hosts"), path)
    hosts = _table(table, "hosts", path)
    for host in hosts:
        if not is_host(host):
            raise SourceError(
                f"config file {path}: {host!r} is not a host name.", 'Write a name: "example.com" = "URL".'
            )
    return Mirrors(
        hosts={host: _url(hosts, host, path) for host in hosts},
        index_url=_url(table, "index-url", path) if "index-url" in table else None,
        apt=_url(table, "apt", path) if "apt" in table else None,
        yum=_url(table, "yum", path) if "yum" in table else None,
    )


def _read(path: str) -> str | None:
    """The text of the config file, None where there is none."""
    hint = "Fix it, or set ENVKIT_CONFIG to another file."
    if not os.path.lexists(path):
        return None
    from envkit.host.user_file import opened

    try:
        with opened(path) as stream:
            data = stream.read(_LIMIT + 1)
        if len(data) > _LIMIT:
            raise SourceError(f"config file {path}: it is larger than {_LIMIT // 1_000_000} MB.", hint)
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SourceError(f"config file {path}: it is not UTF-8 text.", hint) from error
    except OSError as error:
        raise SourceError(f"config file {path}: {error.strerror}.", hint) from error


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in table:
        if key not in known:
            raise SourceError(
                f"config file {path}: {key!r} is not known.",
                f"{did_you_mean(key, known)} Known keys: {', '.join(known)}.".strip(),
            )


def _table(above: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    """The table of that name, empty where there is none."""
    found = above.get(key, {})
    if not isinstance(found, dict):
        line = "[mirrors]" if key == "mirrors" else f"[mirrors.{key}]"
        raise SourceError(f"config file {path}: {key} is not a table.", f"Begin it with a line {line}.")
    return found


def _url(table: Mapping[str, Any], key: str, path: str) -> str:
    value: str = table[key]
    if not is_url(value):
        if isinstance(value, dict):  # a dot in a bare name begins a table
            raise SourceError(f"config file {path}: {key} is a table.", 'Put the name in quotes: "a.lan" = "URL".')
        name = f'"{key}"' if "." in key else key
        example = f'{name} = "https://mirror.lan/simple"'
        raise SourceError(f"config file {path}: {key} = {value!r} is not a URL.", f"Example: {example}")
    return value


def _parse(text: str, path: str) -> Mapping[str, Any]:
    from envkit.base.toml_text import toml_table
    from envkit.host.limits import limited

    try:
        with limited(f"config file {path}"):
            return toml_table(text)
    except ValueError as error:
        raise SourceError(f"config file {path}: {error}.", "Fix that line.") from error
