"""The place in a file that evidence was read at, where it is one: what editors and trackers can open."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.checks.engine.findings import Evidence

_TEXT_WITHOUT_FILE = "text"  # the source of what is in a text that was pasted
_SUBJECT = regex(r"(?:(?P<included>.{1,400}?) )?line (?P<line>\d{1,9}):")  # as check_parts and subject write it


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


def place_in_file(name: str, subject: str) -> Place | None:
    """Where the subject of a finding on a file points: a line of the file, or of one that it includes next to
    itself."""
    match = _SUBJECT.match(subject)
    if match is None:
        return None
    included = match["included"]
    return Place(posixpath.join(posixpath.dirname(name), included) if included else name, int(match["line"]))
