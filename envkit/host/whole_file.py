"""A file that is replaced in one step: whoever reads it sees the old one or the new one, whole.

The folder may be another user's, who can put a link in the place of any name at any moment: what is written, and whose
mode is changed, is what was opened as a new file, by its descriptor and never again by its name.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


def replaceable(path: str) -> None:
    """Raises OSError where no file can be put in the place of `path`; nothing is left behind."""
    with _beside(path):
        pass


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """An empty file beside `path`, for its owner alone, that takes its place when the caller has filled it.

    Raises OSError; then the old file stays, and no other is left behind.
    """
    with _beside(path) as (stream, new):
        yield stream
        stream.close()
        os.replace(new, path)


def real_place(path: str) -> str:
    """Where a link leads. Raises PermissionError for one that another user has put into a folder of everybody.

    Linux refuses to follow such links (fs.protected_symlinks), but not to read where they lead.
    """
    if os.path.islink(path):
        folder = os.stat(os.path.dirname(os.path.abspath(path)))
        is_everybodys = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if is_everybodys and os.lstat(path).st_uid not in (_user(), folder.st_uid):
            raise PermissionError(errno.EACCES, "another user's link", path)
    return os.path.realpath(path)


def take_mode(stream: BinaryIO, path: str, executable: bool = False) -> None:
    """Give the new file the mode of the one that it replaces, so that what was closed to others stays so.

    Otherwise, and where that file is another user's, it gets the mode of a new file.
    """
    umask = os.umask(0)
    os.umask(umask)
    mode = 0o666 & ~umask
    with suppress(FileNotFoundError):
        old = os.stat(path)
        if old.st_uid == _user():
            mode = stat.S_IMODE(old.st_mode)
    mode |= 0o111 & ~umask if executable else 0
    if hasattr(os, "fchmod"):
        os.fchmod(stream.fileno(), mode)
    else:  # Windows, which knows no mode but read-only
        os.chmod(stream.name, mode)


def _user() -> int:
    """This process's user, whose files its own are; on Windows, each file's user is 0."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


@contextmanager
def _beside(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """A new empty file in the folder of `path`, for its owner alone, gone afterward. Raises OSError.

    Its name is known before there is such a file: a signal between the two leaves nothing.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(new, "wb", opener=lambda where, _: os.open(where, flags, 0o600)) as stream:
            yield stream, new
    finally:
        with suppress(OSError):  # it is gone where it took the place of `path`
            os.unlink(new)
