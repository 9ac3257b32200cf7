"""A file that is replaced in one step: whoever reads it sees the old one or the new one, whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def replaceable(path: str) -> None:
    """Raises OSError where no file can be put in the place of `path`; nothing is left behind."""
    with _beside(path):
        pass


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """An empty file beside `path`, for its owner alone, that takes its place when the caller has filled it.

    Raises OSError; then the old file stays, and no other is left behind.
    """
    with _beside(path) as new:
        yield new
        os.replace(new, path)


def usual_mode(path: str, executable: bool = False) -> int:
    """The mode of the file that is replaced, so that what was closed to others stays so; otherwise that of a new
    file."""
    umask = os.umask(0)
    os.umask(umask)
    run = 0o111 & ~umask if executable else 0
    try:
        return stat.S_IMODE(os.stat(path).st_mode) | run
    except FileNotFoundError:
        return 0o666 & ~umask | run


@contextmanager
def _beside(path: str) -> Iterator[str]:
    """A new empty file in the folder of `path`, for its owner alone, gone afterward. Raises OSError.

    Its name is known before there is such a file: a signal between the two leaves nothing.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        yield new
    finally:
        with suppress(OSError):  # it is gone where it took the place of `path`
            os.unlink(new)
