"""Environments that no shell has activated: those of the working folder, and those that conda knows."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit.host.base import Host

# uv, PDM, Hatch, and Poetry with virtualenvs.in-project use .venv; venv is what most tutorials type; Pixi has its own
_IN_FOLDER = (".venv", "venv", ".pixi/envs/default")
_POETRY_HASH_LETTERS = 8  # poetry.utils.env.EnvManager.generate_env_name
_LONGEST_LIST = 20_000  # bytes of conda's list of environments


def folder_pythons(host: Host) -> Iterator[str]:
    """The Pythons of the environments that belong to the working folder: what uv, Poetry, PDM and Pixi make there.

    The home folder is no project's: an environment there is one among others.
    """
    folder = host.identity().get("cwd", "")
    if not folder or folder in ("/", host.identity().get("home", "")):
        return
    yield from _those_there(host, (posixpath.join(folder, name) for name in _IN_FOLDER))
    if host.status(f"{folder}/poetry.lock").known:
        yield from _those_there(host, host.glob(f"{_poetry_cache(host)}/virtualenvs/*-{_poetry_hash(folder)}-py*"))


def conda_pythons(host: Host) -> Iterator[str]:
    """The Pythons of the environments in conda's own list, which `conda env list` prints."""
    home = host.identity().get("home", "")
    listed = host.read_text(f"{home}/.conda/environments.txt", _LONGEST_LIST).value if home else ""
    yield from _those_there(host, (line.strip() for line in (listed or "").splitlines() if line.startswith("/")))


def _those_there(host: Host, prefixes: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    for prefix in prefixes:
        python = f"{prefix}/bin/python"
        if host.status(python).known:
            yield python


def _poetry_cache(host: Host) -> str:
    variables = host.variables()
    caches = variables.get("XDG_CACHE_HOME") or posixpath.join(host.identity().get("home", "/root"), ".cache")
    return variables.get("POETRY_CACHE_DIR") or posixpath.join(caches, "pypoetry")


def _poetry_hash(folder: str) -> str:
    """What Poetry puts into the name of a folder's environment."""
    import base64
    import hashlib

    digest = hashlib.sha256(folder.encode("utf-8", "surrogateescape")).digest()
    return base64.urlsafe_b64encode(digest).decode()[:_POETRY_HASH_LETTERS]
