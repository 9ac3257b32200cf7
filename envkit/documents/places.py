"""The place in a file that evidence was read at, where it is one: what editors and trackers can open."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.checks.engine.findings import Evidence

_TEXT_WITHOUT_FILE = "text"  # the source of what stands in a text that was pasted


@record
class Place:
    """A line of a text that the user named, by its number."""

    file: str
    line: int


def line_of(evidence: Iterable[Evidence]) -> Place | None:
    """The first line of a named text among the evidence."""
    for item in evidence:
        file, word, number = item.source.rpartition(", line ")
        if item.fact == "messages" and word and number.isdigit() and file != _TEXT_WITHOUT_FILE:
            return Place(file, int(number))
    return None
