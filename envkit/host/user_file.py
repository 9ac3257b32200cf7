"""Text files that the user names on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from envkit.errors import SourceError

_LIMIT = 1_000_000


def read_user_file(option: str, path: str) -> str:
    """The text of the file that `option` names, `-` for standard input. Raises SourceError in one line."""
    try:
        if path == "-":
            return sys.stdin.read(_LIMIT)
        with Path(path).open(encoding="utf-8") as stream:
            return stream.read(_LIMIT)
    except OSError as error:
        raise SourceError(f"{option}: cannot read {path}: {error.strerror}.", "Name a readable file.") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{option}: {path} is not text.", "Name a text file in UTF-8.") from error
