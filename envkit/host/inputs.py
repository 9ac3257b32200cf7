"""The files that this run has read for its user, so that no report takes the place of one."""

from __future__ import annotations

import os

_PATHS = set[str]()


def note_read(path: str) -> None:
    """The file at `path` is one of them."""
    _PATHS.add(os.path.realpath(path))


def was_read(path: str) -> bool:
    """Whether `path` leads to one of them."""
    return os.path.realpath(path) in _PATHS
