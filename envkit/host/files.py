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

from envkit.facts import Observed, Problem, found, missing
from envkit.host.base import FileStatus
from envkit.host.name_pattern import fixed_start, name_pattern

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
_MAX_LINKS = 40
_SETTLED_NS = 1_000_000_000  # coarser than any file system's clock, which a listing may have raced with


class Files:
    """The file system below `root` ("" is the machine's own)."""

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")
        self._listings: dict[str, tuple[int, list[str]]] = {}

    def read_bytes(self, path: str, limit: int) -> Observed[bytes]:
        """The first `limit` bytes of a regular file."""
        return self._answer(path, lambda real: _read(real, limit))

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes of a regular file from `offset` on."""
        return self._answer(path, lambda real: _read(real, size, offset))

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder, sorted."""
        return self._answer(path, lambda real: tuple(sorted(filter(_is_text, os.listdir(real)))))

    def real_path(self, path: str) -> Observed[str]:
        """The path without links, seen from the root."""
        return self._answer(path, self._existing if self._root else _resolved)

    def read_link(self, path: str) -> Observed[str]:
        """What a link says."""
        answer = self._answer(path, lambda real: readable(os.readlink(real)), follow=False)
        if answer.problem is Problem.UNPARSABLE:  # EINVAL: there, and not a link
            return missing(Problem.ABSENT, path, "not a link")
        return answer

    def status(self, path: str, follow: bool) -> Observed[FileStatus]:
        """Type and rights of a path."""
        look = os.lstat if self._root or not follow else os.stat  # below a root the path has no links any more
        return self._answer(path, lambda real: _status(real, look(real)), follow)

    def space(self, path: str, total: bool) -> Observed[int]:
        """Total or free bytes of the file system that holds `path`."""

        def measure(real: str) -> int:
            answer = os.statvfs(real)
            return answer.f_frsize * (answer.f_blocks if total else answer.f_bavail)

        return self._answer(path, measure)

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
        names = self._answer(folder, self._listed).value or ()
        wanted = name_pattern(part)
        return tuple(
            name
            for name in names
            if name.startswith(fixed)
            and wanted.fullmatch(name)
            and _is_text(name)
            and self._exists(posixpath.join(folder, name))
        )

    def _listed(self, real: str) -> list[str]:
        """The names in a folder; one of /usr that has not changed for a while is listed once for many patterns."""
        changed = os.stat(real).st_mtime_ns
        known = self._listings.get(real)
        if known is not None and known[0] == changed:
            return known[1]
        names = os.listdir(real)
        if real.startswith(f"{self._root}/usr/") and changed < time.time_ns() - _SETTLED_NS:
            self._listings[real] = changed, names
        return names

    def _exists(self, path: str) -> bool:
        return self._answer(path, os.stat).known

    def _answer(self, path: str, ask: Callable[[str], T], follow: bool = True) -> Observed[T]:
        try:
            return found(ask(self._inside(path, follow)), path)
        except OSError as error:
            return missing(_problem(error), path, error.strerror or str(error))
        except ValueError as error:  # a path with a zero byte
            return missing(Problem.ABSENT, path, str(error))

    def _inside(self, path: str, follow: bool) -> str:
        """The real path of `path` on this machine. Links are resolved against the root, so none leads out of it.

        Without a root the kernel follows the links; resolving them here would cost more than all the rest.
        """
        if not self._root:
            return path
        waiting = [part for part in path.split("/") if part]
        done = ""
        links = 0
        while waiting:
            part = waiting.pop(0)
            if part in (".", ".."):
                done = posixpath.dirname(done) if part == ".." else done
                continue
            here = f"{self._root}{done}/{part}"
            if (waiting or follow) and os.path.islink(here):
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = os.readlink(here)
                done = "" if target.startswith("/") else done
                waiting = [name for name in target.split("/") if name] + waiting
                continue
            done = f"{done}/{part}"
        return self._root + done or "/"

    def _existing(self, real: str) -> str:
        os.lstat(real)
        return readable(real[len(self._root) :] or "/")


def readable(text: str) -> str:
    """The text with bytes that are no UTF-8 replaced: such a name may stand on a disk, and not in a report."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_text(name: str) -> bool:
    """False for a name that is no UTF-8; nothing that we look for has one."""
    return readable(name) == name


def _problem(error: OSError) -> Problem:
    if error.errno in _ABSENT:
        return Problem.ABSENT
    return Problem.DENIED if error.errno in _DENIED else Problem.UNPARSABLE


def _read(real: str, limit: int, offset: int = 0) -> bytes:
    # O_NONBLOCK: opening a named pipe without a writer would wait for ever
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if offset:
            stream.seek(offset)
        blocks = []
        while limit > 0 and (block := stream.read(min(limit, 1 << 20))):
            blocks.append(block)
            limit -= len(block)
        return b"".join(blocks)


def _resolved(path: str) -> str:
    return readable(os.path.realpath(path, strict=True))


def _status(real: str, answer: os.stat_result) -> FileStatus:
    kind = next((name for test, name in _KINDS if test(answer.st_mode)), "other")
    device = f"{os.major(answer.st_rdev)}:{os.minor(answer.st_rdev)}" if kind in ("char", "block") else ""
    return FileStatus(
        kind,
        f"{stat.S_IMODE(answer.st_mode):04o}",
        _owner(answer.st_uid),
        _group(answer.st_gid),
        answer.st_size,
        os.access(real, os.R_OK | os.W_OK),
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
