"""pyenv's shims: programs that start the version which a variable or a file names.

The file may be a stranger's, in a cloned repository. As pyenv does, a version is taken for the name of something below
the folder `versions`, and one that leads elsewhere is ignored.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.host.base import Host

_BETWEEN = regex(r"[:\s]+")


def is_shim(program: str) -> bool:
    """True for a program that pyenv put on PATH in place of the real one."""
    return "/shims/" in program


def behind_shim(host: Host, shim: str) -> str | None:
    """The program that a shim starts, None when its version is not installed."""
    root, source, names = _chosen(host, shim)
    for name in names:
        folder = _folder(root, name)
        program = f"{folder}/bin/{posixpath.basename(shim)}"
        if folder and host.status(program).known:
            return program
    return None


def ignored(host: Host, shim: str) -> Iterator[str]:
    """A sentence for each version that leads out of pyenv's own folder."""
    root, source, names = _chosen(host, shim)
    for name in names:
        if not _folder(root, name):
            yield f"the version {name} in {source} is ignored: it lies outside {root}/versions"


def _folder(root: str, name: str) -> str:
    """The folder of a version, '' for one outside pyenv's own."""
    folder = posixpath.normpath(posixpath.join(root, "versions", name))
    return folder if folder.startswith(f"{root}/versions/") else ""


def _chosen(host: Host, shim: str) -> tuple[str, str, list[str]]:
    """pyenv's root, where the choice is written, and the chosen versions."""
    root = posixpath.dirname(posixpath.dirname(shim))
    source, text = _written(host, root)
    return root, source, list(filter(None, _BETWEEN.split(text)))


def _written(host: Host, root: str) -> tuple[str, str]:
    named = host.variables().get("PYENV_VERSION")
    if named:
        return "PYENV_VERSION", named
    folder = host.identity().get("cwd", "")
    while folder and folder != "/":
        path = f"{folder}/.python-version"
        local = host.read_text(path, 400)
        if local.known:
            return path, local.get()
        folder = posixpath.dirname(folder)
    return f"{root}/version", host.read_text(f"{root}/version", 400).value or ""
