"""A file that is replaced in one step: whoever reads it sees the old one or the new one, whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def replaceable(path: str) -> None:
    """Raises OSError where no file can be put in the place of `path`; nothing is left behind."""
    os.unlink(_beside(path))


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """An empty file beside `path`, for its owner alone, that takes its place when the caller has filled it.

    Raises OSError; then the old file stays, and no other is left behind.
    """
    new = _beside(path)
    try:
        yield new
        os.replace(new, path)
    finally:
        with suppress(OSError):  # it is gone where all went well
            os.unlink(new)


def usual_mode(path: str, executable: bool = False) -> int:
    """The mode of the file that is replaced, so that what was closed to others stays so; else that of a new file."""
    umask = os.umask(0)
    os.umask(umask)
    run = 0o111 & ~umask if executable else 0
    try:
        return stat.S_IMODE(os.stat(path).st_mode) | run
    except FileNotFoundError:
        return 0o666 & ~umask | run


def _beside(path: str) -> str:
    """A new empty file in the folder of `path`, for its owner alone. Raises OSError."""
    import tempfile

    folder, name = os.path.split(path)
    handle, new = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    os.close(handle)
    return new
