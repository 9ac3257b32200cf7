"""Files by handle: each is looked at before it is opened, and opened only when it is a regular file or a folder.

A handle (`O_PATH`) stands for the file itself, whatever its name leads to a moment later, and opening one does nothing
to a device or a pipe.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from envkit.host.links import walk

_LOOK = os.O_PATH | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST_NAMES = 100_000  # of one folder
_BLOCK = 1 << 16  # asked for at once, so that little memory is enough for a small file


class Handle(NamedTuple):
    """An open handle, and the name that it was opened by, below the folder that `folder` is open on."""

    number: int
    name: str
    folder: int | None = None


class Live:
    """The running machine, whose kernel follows the links."""

    @contextmanager
    def opened(self, path: str, follow: bool = True) -> Iterator[Handle]:
        """A handle of what is at `path`."""
        number = os.open(path, _LOOK | (0 if follow else os.O_NOFOLLOW))
        try:
            yield Handle(number, path)
        finally:
            os.close(number)

    def stat(self, path: str, follow: bool = True) -> os.stat_result:
        """What kind of file is at `path`."""
        return os.stat(path, follow_symlinks=follow)

    def real_path(self, path: str) -> str:
        """The path without links."""
        return os.path.realpath(path, strict=True)


class Mounted:
    """The tree below a folder, walked from handle to handle: neither a link nor an exchanged folder leads out of it."""

    def __init__(self, root: str, links: bool = True) -> None:
        self._root = root
        self._links = links  # False: a link is an error

    @contextmanager
    def opened(self, path: str, follow: bool = True) -> Iterator[Handle]:
        """A handle of what is at `path` of the tree."""
        with self._walked(path, follow) as steps:
            yield steps.handle

    def stat(self, path: str, follow: bool = True) -> os.stat_result:
        """What kind of file is at `path` of the tree."""
        with self._walked(path, follow) as steps:
            return os.fstat(steps.here)

    def real_path(self, path: str) -> str:
        """The path without links, seen from the root."""
        with self._walked(path, True) as steps:
            return "/" + "/".join(steps.names)

    @contextmanager
    def _walked(self, path: str, follow: bool) -> Iterator[_Steps]:
        steps = _Steps(self._root, self._links)
        try:
            walk(steps, path, follow)
            yield steps
        finally:
            steps.close()


class _Steps:
    """A walker that holds each folder on its way open, so that the way back is the way it came."""

    def __init__(self, root: str, links: bool) -> None:
        self.names: list[str] = []
        self._links = links
        self._handles = [os.open(root, _LOOK | os.O_DIRECTORY)]

    @property
    def here(self) -> int:
        """The open number of where the walker is."""
        return self._handles[-1]

    @property
    def handle(self) -> Handle:
        """The handle of where the walker is."""
        return Handle(self.here, self.names[-1], self._handles[-2]) if self.names else Handle(self.here, ".", self.here)

    def enter(self, name: str, follow: bool) -> str | None:
        handle = os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=self.here)
        if follow and stat.S_ISLNK(os.fstat(handle).st_mode):
            try:
                if not self._links:
                    raise OSError(errno.ELOOP, "a link")
                return os.readlink("", dir_fd=handle)
            finally:
                os.close(handle)
        self.names.append(name)
        self._handles.append(handle)
        return None

    def leave(self) -> None:
        if self.names:
            self.names.pop()
            os.close(self._handles.pop())

    def top(self) -> None:
        while self.names:
            self.leave()

    def close(self) -> None:
        """Let all handles go."""
        for handle in self._handles:
            os.close(handle)


def read(handle: Handle, limit: int, offset: int = 0) -> bytes:
    """The first `limit` bytes from `offset` on. Raises OSError for anything but a regular file."""
    if not stat.S_ISREG(os.fstat(handle.number).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    with open(_reopened(handle), "rb", buffering=0) as stream:
        if offset:
            stream.seek(offset)
        blocks = []
        while limit > 0 and (block := stream.read(min(limit, _BLOCK))):
            blocks.append(block)
            limit -= len(block)
        return b"".join(blocks)


def _reopened(handle: Handle) -> int:
    """The file of a handle, open for reading; by its name where /proc is not mounted."""
    try:
        return os.open(f"/proc/self/fd/{handle.number}", _READ)
    except FileNotFoundError:
        number = os.open(handle.name, _READ | (0 if handle.folder is None else os.O_NOFOLLOW), dir_fd=handle.folder)
    if os.path.samestat(os.fstat(number), os.fstat(handle.number)):
        return number
    os.close(number)
    raise OSError(errno.ESTALE, "replaced while it was being read")


def names(handle: Handle) -> list[str]:
    """The names in a folder, at most some ten thousands. Raises OSError for anything but a folder."""
    folder = os.open(".", _FOLDER, dir_fd=handle.number)
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MOST_NAMES)]
    finally:
        os.close(folder)


def link_text(handle: Handle) -> str:
    """What the link says. Raises OSError for anything but a link."""
    if not stat.S_ISLNK(os.fstat(handle.number).st_mode):
        raise OSError(errno.EINVAL, "not a link")
    return os.readlink("", dir_fd=handle.number)


def is_accessible(handle: Handle) -> bool:
    """True when this process may read and write it."""
    return os.access(handle.name, os.R_OK | os.W_OK, dir_fd=handle.folder, follow_symlinks=handle.folder is None)
