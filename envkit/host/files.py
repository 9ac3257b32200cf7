"""Files of the live machine below some root: every answer is a value or the reason there is none; links stay inside."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from envkit.host.base import FileStatus
from envkit.host.handles import Handle, Live, Mounted, is_accessible, link_text, names, read
from envkit.host.name_pattern import fixed_start, name_pattern
from envkit.model import Observed, Problem, found, missing

T = TypeVar("T")
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENODEV, errno.ENXIO, errno.ENAMETOOLONG}
_DENIED = {errno.EACCES, errno.EPERM}
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "dir"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISCHR, "char"),
    (stat.S_ISBLK, "block"),
)
_SETTLED_NS = 1_000_000_000  # coarser than any file system's clock, which a listing may have raced with


class Files:
    """The file system below `root` ("" is the machine's own)."""

    def __init__(self, root: str = "") -> None:
        self._tree: Live | Mounted = Mounted(root) if root else Live()
        self._listings: dict[str, tuple[int, list[str]]] = {}

    def read_bytes(self, path: str, limit: int) -> Observed[bytes]:
        """The first `limit` bytes of a regular file."""
        return self._by_handle(path, lambda handle: read(handle, limit))

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes of a regular file from `offset` on."""
        return self._by_handle(path, lambda handle: read(handle, size, offset))

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder, sorted."""
        return self._by_handle(path, lambda handle: tuple(sorted(filter(_is_text, names(handle)))))

    def real_path(self, path: str) -> Observed[str]:
        """The path without links, seen from the root."""
        return self._answer(path, lambda: readable(self._tree.real_path(path)))

    def read_link(self, path: str) -> Observed[str]:
        """What a link says."""
        answer = self._by_handle(path, lambda handle: readable(link_text(handle)), follow=False)
        if answer.problem is Problem.UNPARSABLE:  # EINVAL: there, and not a link
            return missing(Problem.ABSENT, path, "not a link")
        return answer

    def status(self, path: str, follow: bool) -> Observed[FileStatus]:
        """Type and rights of a path."""
        return self._by_handle(path, _status, follow)

    def space(self, path: str, total: bool) -> Observed[int]:
        """Total or free bytes of the file system that holds `path`."""

        def measure(handle: Handle) -> int:
            answer = os.fstatvfs(handle.number)
            return answer.f_frsize * (answer.f_blocks if total else answer.f_bavail)

        return self._by_handle(path, measure)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that match, sorted; what cannot be listed has no matches."""
        matches = [""]
        looked = True
        for part in pattern.strip("/").split("/"):
            looked = fixed_start(part) != part
            if looked:
                matches = [f"{base}/{name}" for base in matches for name in self._matching(base or "/", part)]
            else:  # a missing folder shows when it is listed
                matches = [f"{base}/{part}" for base in matches]
        return tuple(sorted(path for path in matches if looked or self._exists(path)))

    def _matching(self, folder: str, part: str) -> tuple[str, ...]:
        # a folder of libraries has thousands of names: those that cannot match are dropped before all else
        fixed = fixed_start(part)
        listed = self._answer(folder, lambda: self._listed(folder)).value or ()
        wanted = name_pattern(part)
        return tuple(
            name
            for name in listed
            if name.startswith(fixed)
            and wanted.fullmatch(name)
            and _is_text(name)
            and self._exists(posixpath.join(folder, name))
        )

    def _listed(self, path: str) -> list[str]:
        """The names in a folder; one of /usr that has not changed for a while is listed once for many patterns."""
        if not path.startswith("/usr/"):
            return self._names(path)
        changed = self._tree.stat(path).st_mtime_ns
        known = self._listings.get(path)
        if known is not None and known[0] == changed:
            return known[1]
        listed = self._names(path)
        if changed < time.time_ns() - _SETTLED_NS:
            self._listings[path] = changed, listed
        return listed

    def _names(self, path: str) -> list[str]:
        with self._tree.opened(path) as handle:
            return names(handle)

    def _exists(self, path: str) -> bool:
        return self._answer(path, lambda: self._tree.stat(path)).known

    def _by_handle(self, path: str, ask: Callable[[Handle], T], follow: bool = True) -> Observed[T]:
        def ask_opened() -> T:
            with self._tree.opened(path, follow) as handle:
                return ask(handle)

        return self._answer(path, ask_opened)

    @staticmethod
    def _answer(path: str, ask: Callable[[], T]) -> Observed[T]:
        try:
            return found(ask(), path)
        except OSError as error:
            return missing(_problem(error), path, error.strerror or str(error))
        except ValueError as error:  # a path with a zero byte
            return missing(Problem.ABSENT, path, str(error))


def readable(text: str) -> str:
    """The text with bytes that are no UTF-8 replaced: such a name may be on a disk, and not in a report."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_text(name: str) -> bool:
    """False for a name that is no UTF-8; nothing that we look for has one."""
    return readable(name) == name


def _problem(error: OSError) -> Problem:
    if error.errno in _ABSENT:
        return Problem.ABSENT
    return Problem.DENIED if error.errno in _DENIED else Problem.UNPARSABLE


def _status(handle: Handle) -> FileStatus:
    answer = os.fstat(handle.number)
    kind = next((name for test, name in _KINDS if test(answer.st_mode)), "other")
    device = f"{os.major(answer.st_rdev)}:{os.minor(answer.st_rdev)}" if kind in ("char", "block") else ""
    return FileStatus(
        kind,
        f"{stat.S_IMODE(answer.st_mode):04o}",
        _owner(answer.st_uid),
        _group(answer.st_gid),
        answer.st_size,
        kind != "link" and is_accessible(handle),
        answer.st_mtime,
        device,
    )


@cache
def _owner(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@cache
def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
