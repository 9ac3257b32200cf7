"""Whether somebody else could have put a file where it is: nobody but root and the caller may own it or its folders."""

from __future__ import annotations

import errno
import os
import stat
from functools import cache

from envkit.host.links import walk

# their members administer the machine: Debian gives /usr/local to root:staff with mode 2775
_ADMINISTRATORS = frozenset({"root", "bin", "staff", "wheel", "sudo", "admin"})
_WHOLE_MAP = ["0", "0", "4294967295"]  # the ids of a process that is in no user namespace


class Untrusted(OSError):
    """Somebody else owns or may replace a file, or a folder or link on the way to it."""


def check(path: str) -> None:
    """Raises Untrusted when others than root and the caller can change `path`, OSError when it is not there.

    For root only root counts: what a user owns, he can change between our look and our use.
    """
    if not path.startswith("/"):
        raise Untrusted(errno.EACCES, f"{path} is not an absolute path")
    walk(_Steps(), path)


def is_trusted(path: str) -> bool:
    """True for a path that is there and that nobody else can change."""
    try:
        check(path)
    except (OSError, ValueError):
        return False
    return True


def leads_to(path: str, status: os.stat_result) -> bool:
    """True where a path leads to the file of that status by links that its owner, root or the caller has made."""
    links = _Links()
    walk(links, os.path.join(os.getcwd(), path))
    return links.owners <= _accepted() | {status.st_uid} and os.path.samestat(os.stat(path), status)


class _Names:
    """Walks along names."""

    def __init__(self) -> None:
        self._done: list[str] = []

    def leave(self) -> None:
        del self._done[-1:]

    def top(self) -> None:
        self._done.clear()


class _Links(_Names):
    """Notes whose links it follows."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: set[int] = set()

    def enter(self, name: str, follow: bool) -> str | None:
        here = "/".join(["", *self._done, name])
        status = os.lstat(here)
        if follow and stat.S_ISLNK(status.st_mode):
            self.owners.add(status.st_uid)
            return os.readlink(here)
        self._done.append(name)
        return None


class _Steps(_Names):
    """Looks at each folder, link and file on the way, none of which may be somebody else's."""

    def __init__(self) -> None:
        super().__init__()
        self._owners = _accepted()
        self._look("/")

    def enter(self, name: str, follow: bool) -> str | None:
        here = "/".join(["", *self._done, name])
        if stat.S_ISLNK(self._look(here)) and follow:
            return os.readlink(here)
        self._done.append(name)
        return None

    def _look(self, path: str) -> int:
        """The mode of a path that nobody else owns and may change. Raises Untrusted."""
        status = os.lstat(path)
        if status.st_uid not in self._owners:
            raise Untrusted(errno.EACCES, f"{path} belongs to {_name(status.st_uid)}")
        if not stat.S_ISLNK(status.st_mode) and _open_to_others(status):
            raise Untrusted(errno.EACCES, f"{path} is writable by others")
        return status.st_mode


def _open_to_others(status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return False  # as /tmp: what is in it can be replaced by its owner alone, who is looked at too
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _closed_group(status.st_gid, status.st_uid)


@cache
def _closed_group(group: int, owner: int) -> bool:
    """True for administrators' groups and for the group that many systems make for each user alone."""
    import grp

    try:
        entry = grp.getgrgid(group)
    except KeyError:
        return group == 0
    if group == 0 or group < 1000 and entry.gr_name in _ADMINISTRATORS:
        return True
    return entry.gr_name in (_name(owner), _name(os.geteuid())) and set(entry.gr_mem) <= {entry.gr_name}


@cache
def _accepted() -> frozenset[int]:
    return frozenset({0, os.geteuid()} | _hosts_root())


@cache
def _hosts_root() -> frozenset[int]:
    """In a user namespace (rootless containers, Apptainer) the files of the host's root belong to the overflow id."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as stream:
            if stream.read().split() == _WHOLE_MAP:
                return frozenset()
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as stream:
            return frozenset({int(stream.read())})
    except (OSError, ValueError):
        return frozenset()


@cache
def _name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
