"""Finds users and hosts in tables by their header: what stands below `USER`, `ACCOUNT` or `NODELIST`.

A table ends where a line has fewer words than its header, or another header begins. Where a line has other words than
its header, as those of `2 hours ago`, a cell is what begins below the word of the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex

_KINDS = {"USER": "user", "USERNAME": "user", "OWNER": "user", "ACCOUNT": "name", "UID": "user"}
_KINDS |= dict.fromkeys(
    ("NODELIST", "HOSTNAMES", "HOSTNAME", "EXEC_HOST", "FROM_HOST", "NODE", "NODENAME", "HOST"), "host"
)
_KINDS |= {"NAMESPACE": "name", "JOB_NAME": "name", "SERIAL": "serial", "PROJECT": "name"}
_OF_JOBS = dict.fromkeys(("NAME", "NAMES", "IMAGE", "POD"), "name")  # of containers and jobs; elsewhere of devices
_JOBS = frozenset({"NAMESPACE", "READY", "RESTARTS", "ROLES", "JOBID", "CONTAINER"})
_HEADER = regex(
    r"[ \t]*[A-Z][A-Z_%()/:-]*(?:(?:[ \t]{1,40}|[ \t]{0,8}[|][ \t]{0,8})[A-Z%][A-Z\d_%()/:+-]*){1,30}[ \t|]*"
)
_WORD = regex(r"[^\s|]{1,200}")
_NAME = regex(r"[A-Za-z][\w.\[\],-]{1,200}")
_PLACE = regex(r"[A-Za-z][\w.\[\],:@/-]{1,200}")
_SERIAL = regex(r"(?=[A-Z-]{0,30}\d)[A-Z\d][A-Z\d_-]{4,40}")
_FORMS = {"user": _NAME, "host": _NAME, "name": _PLACE, "serial": _SERIAL}
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
    header: list[re.Match[str]] = []
    for line in lines:
        if line.isupper() and _HEADER.fullmatch(line):
            words = list(_WORD.finditer(line))
            known = _KINDS if _JOBS.isdisjoint(word.group() for word in words) else _KINDS | _OF_JOBS
            kinds = {at: known[word.group()] for at, word in enumerate(words) if word.group() in known}
            width = len(words)
            header = words
            yield line, ()
        elif kinds:
            places = list(_WORD.finditer(line))
            if len(places) < width - _MOST_EMPTY or not places:
                kinds = {}
            if kinds and len(places) != width:
                yield line, tuple(_cells(kinds, [_below(line, word) for word in header]))
            else:
                yield line, tuple(_cells(kinds, places))
        else:
            yield line, ()


def _below(line: str, word: re.Match[str]) -> re.Match[str] | None:
    """The word that begins where this one of the header does, behind blanks."""
    return _WORD.match(line, word.start()) if line[max(0, word.start() - 1) : word.start()].strip(" |") == "" else None


def _cells(kinds: Mapping[int, str], places: Sequence[re.Match[str] | None]) -> Iterator[Cell]:
    for at, kind in kinds.items():
        place = places[at] if at < len(places) else None
        if place is not None and _FORMS[kind].fullmatch(place.group()):
            yield Cell(place.start(), place.end(), kind)
