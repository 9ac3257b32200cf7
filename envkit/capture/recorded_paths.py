"""Whether a path out of a recording, which anybody may have written, answers the question that it was recorded for."""

from __future__ import annotations

import posixpath

from envkit.host.name_pattern import name_pattern


def is_plain(path: str) -> bool:
    """True for an absolute path that leads nowhere but down."""
    return path.startswith("/") and "\0" not in path and {".", ".."}.isdisjoint(path.split("/"))


def is_name(name: str) -> bool:
    """True for the name of something in a folder."""
    return "/" not in name and "\0" not in name and name not in ("", ".", "..")


def fits_pattern(pattern: str, path: str) -> bool:
    """True for a plain path of as many parts as the pattern has, each of which matches its own."""
    parts, wanted = (list(filter(None, text.split("/"))) for text in (path, pattern))
    if not is_plain(path) or len(parts) != len(wanted):
        return False
    return all(part == each or name_pattern(each).fullmatch(part) for part, each in zip(parts, wanted, strict=True))


def is_program(program: str, path: str) -> bool:
    """True for a plain path to a file of that name."""
    return is_plain(path) and posixpath.basename(path) == posixpath.basename(program)
