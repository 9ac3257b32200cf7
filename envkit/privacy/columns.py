"""Finds users and hosts in tables by their header: what stands below `USER`, `ACCOUNT` or `NODELIST`.

A table ends where a line has fewer words than its header, or another header begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envkit._startup.records import record
from envkit._startup.regex import regex

_KINDS = {"USER": "user", "USERNAME": "user", "OWNER": "user", "ACCOUNT": "name", "UID": "user"}
_KINDS |= dict.fromkeys(
    ("NODELIST", "HOSTNAMES", "HOSTNAME", "EXEC_HOST", "FROM_HOST", "NODE", "NODENAME", "HOST"), "host"
)
_HEADER = regex(
    r"[ \t]*[A-Z][A-Z_%()/:-]*(?:(?:[ \t]{1,40}|[ \t]{0,8}[|][ \t]{0,8})[A-Z%][A-Z\d_%()/:+-]*){1,30}[ \t|]*"
)
_WORD = regex(r"[^\s|]{1,200}")
_NAME = regex(r"[A-Za-z][\w.\[\],-]{1,200}")
_MOST_EMPTY = 1  # cells of a row without a word


@record
class Cell:
    """A place in a line, and the kind of name that stands there."""

    start: int
    end: int
    kind: str


def cells(lines: Iterable[str]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Each line with the cells that its table's header says are names."""
    kinds: Mapping[int, str] = {}
    width = 0
    for line in lines:
        if line.isupper() and _HEADER.fullmatch(line):
            words = _WORD.findall(line)
            kinds, width = {at: _KINDS[word] for at, word in enumerate(words) if word in _KINDS}, len(words)
            yield line, ()
        elif kinds:
            places = list(_WORD.finditer(line))
            if len(places) < width - _MOST_EMPTY or not places:
                kinds = {}
            yield (
                line,
                tuple(
                    Cell(places[at].start(), places[at].end(), kind)
                    for at, kind in kinds.items()
                    if at < len(places) and _NAME.fullmatch(places[at].group())
                ),
            )
        else:
            yield line, ()
