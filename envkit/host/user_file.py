"""Text files that the user names on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from envkit.base.errors import SourceError

_LIMIT = 1_000_000


def read_user_file(option: str, path: str) -> str:
    """The text of the file that `option` names, `-` for standard input. Raises SourceError in one line.

    A byte that is not UTF-8, as in a comment in Latin-1, becomes a replacement character; a file with a NUL is no text.
    """
    data = _bytes(option, path)
    if b"\0" in data:
        raise SourceError(f"{option}: {path} is not text.", "Name a text file in UTF-8.")
    if len(data) > _LIMIT:
        raise SourceError(f"{option}: {path} is larger than {_LIMIT // 1_000_000} MB.", "Name a smaller file.")
    return data.decode("utf-8", "replace")


def _bytes(option: str, path: str) -> bytes:
    """What the file begins with: one byte more than is read of a text shows that it is too large."""
    if path == "-" and sys.stdin is None:
        raise SourceError(f"{option} -: standard input is closed.", "Pipe a text into it, or name a file.")
    try:
        if path == "-":
            return sys.stdin.buffer.read(_LIMIT + 1)
        with Path(path).open("rb") as stream:
            return stream.read(_LIMIT + 1)
    except OSError as error:
        raise SourceError(f"{option}: cannot read {path}: {error.strerror}.", "Name a readable file.") from error


def read_beside(path: str, name: str) -> str | None:
    """The text of the file `name` in the folder of the file that the user named, and in none above it; None for no
    such file, and beside standard input."""
    if path == "-":
        return None
    folder = Path(path).resolve().parent
    try:
        place = (folder / name).resolve()
        if not place.is_relative_to(folder) or not place.is_file():
            return None
        with place.open(encoding="utf-8-sig") as stream:
            return stream.read(_LIMIT)
    except (OSError, ValueError):  # a name that no file system takes, and text that is none
        return None
