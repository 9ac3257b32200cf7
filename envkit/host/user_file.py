"""Text files that the user names on the command line, and those next to them that they name."""

from __future__ import annotations

import os
import stat
import sys
from typing import IO

from envkit.base.decode import marked
from envkit.base.errors import SourceError
from envkit.host.handles import Mounted, read
from envkit.host.inputs import note_read
from envkit.host.trust import leads_to

_LIMIT = 1_000_000
_HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # by the shell, as `<(command)` does: a pipe by intent


def read_user_file(option: str, path: str, limit: int = _LIMIT, reader: str = "") -> str:
    """The text of the file that `option` names, `-` for standard input. Raises SourceError in one line.

    A byte that is not UTF-8, as in a comment in Latin-1, becomes a replacement character; a file with a NUL is not a
    text, unless it is marked as UTF-16, as PowerShell's `pip freeze > FILE` is. `reader` is a program that the file is
    for and that reads UTF-8 alone.
    """
    return _text(read_user_bytes(option, path, limit), option, path, limit, reader)


def read_user_bytes(option: str, path: str, limit: int = _LIMIT) -> bytes:
    """What `read_user_file` makes a text of, with one byte more than that takes. Raises SourceError."""
    if path == "-" and sys.stdin is None:
        raise SourceError(f"{option} -: standard input is closed.", "Pipe a text into it, or pass a file.")
    try:
        if path == "-":
            return sys.stdin.buffer.read(limit + 1)
        with opened(path) as stream:
            return stream.read(limit + 1) or b""
    except OSError as error:
        raise SourceError(f"{option}: cannot read {path}: {error.strerror}.", "Check the path.") from error


def _text(data: bytes, option: str, path: str, limit: int, reader: str) -> str:
    if len(data) > limit:
        raise SourceError(f"{option}: {path} is larger than {limit // 1_000_000} MB.", "Pass a smaller file.")
    encoding, text = marked(data) or "utf-8", text_of(data)
    if "\0" in text:
        raise SourceError(f"{option}: {path} is not text.", "Pass a text file in UTF-8.")
    if reader and not encoding.startswith("utf-8"):
        raise SourceError(
            f"{option}: {path} is {encoding.upper()} text, which {reader} cannot read.", "Save it as UTF-8."
        )
    return text


def text_of(data: bytes) -> str:
    """The text that a user's file holds, with a NUL in it where it holds none."""
    encoding = marked(data) or "utf-8"
    try:
        return data.decode(encoding, "replace" if encoding.startswith("utf-8") else "strict")
    except UnicodeDecodeError:
        return "\0"


def opened(path: str) -> IO[bytes]:
    """The file, open to be read. Raises OSError, also for a pipe, a device or a socket, none of which is opened.

    Whoever unpacked a stranger's folder did not choose to wait for a pipe in it. A file of the kernel that has no end,
    such as /proc/kmsg, ends where one would wait for more. Root follows no link of a user to a file of somebody else:
    what is said about it would leave the circle that may read it.
    """
    if path.startswith(_HANDED_OVER):
        return open(path, "rb")  # noqa: SIM115 - the caller closes it
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a folder says so by itself
        raise OSError(0, "it is a pipe, a device, or a socket")
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    try:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):  # exchanged meanwhile
            raise OSError(0, "it is a pipe, a device, or a socket")
        if os.geteuid() == 0 and not leads_to(path, status):
            raise OSError(0, "a link on its path belongs to a user, and leads to another user's file")
    except OSError:
        stream.close()
        raise
    note_read(path)
    return stream


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def named_folder(option: str, path: str) -> str:
    """The folder that `option` names. Raises SourceError for anything else."""
    if not os.path.isdir(path):
        raise SourceError(f"{option}: {path} is not a folder.", "Pass a directory.")
    return path


def read_beside(path: str, name: str) -> str | None:
    """The text of the file `name` in the folder of the file that the user named; None where `read_inside` has none,
    and next to standard input."""
    return None if path == "-" else read_inside(os.path.dirname(os.path.realpath(path)), name)


def read_inside(folder: str, name: str) -> str | None:
    """The text of the file `name` in a folder, and in none above it; None for no such file, and for one that is too
    large or no text."""
    folder = os.path.realpath(folder)
    try:
        inside = os.path.relpath(os.path.realpath(os.path.join(folder, name)), folder)
        if inside.partition("/")[0] == "..":
            return None
        with Mounted(folder, links=False).opened(inside) as handle:
            data = read(handle, _LIMIT + 1)
        note_read(os.path.join(folder, inside))
        return None if len(data) > _LIMIT or b"\0" in data else data.decode("utf-8-sig")
    except (OSError, ValueError):  # a name that no file system takes, and text that is none
        return None


def kind_inside(folder: str, path: str) -> str | None:
    """What is at a path of a folder: "file", "folder", "" for nothing; None for a link, and for what is hidden."""
    try:
        mode = Mounted(os.path.realpath(folder), links=False).stat(path, follow=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return None
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else None
