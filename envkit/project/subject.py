"""Where a finding on a project's file points: the line, what is there, and the file where it is an included one."""

from __future__ import annotations

from envkit.dockerfile import check_parts
from envkit.dockerfile.framework_packages import Wanted
from envkit.project.model import Item


def place_and_words(line: int, what: str, file: str = "") -> str:
    """A line and what is there, of the file itself or of one that it includes."""
    place = check_parts.subject_of(line, what)
    return f"{file} {place}" if file else place


def subject_of(one: Item | None, wanted: Wanted | None = None) -> str:
    """The place of an item; of a package that no item names, the line that provides it."""
    if one is not None:
        return place_and_words(one.package.line, one.written, one.file)
    return place_and_words(wanted.line, wanted.package) if wanted is not None else ""
