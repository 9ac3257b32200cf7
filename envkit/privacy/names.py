"""What a machine and its users are called: from the process that looked, or from the plain places of a pasted text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Protocol

from envkit._startup.regex import regex
from envkit.model import Identity
from envkit.privacy.name_places import PLACES

_ASKED = {"whoami": "user", "id -un": "user", "hostname": "host", "hostname -s": "host", "hostname -f": "host"}
_ANSWER = regex(r"[$#%>] (whoami|id -un|hostname(?: -[sf])?)\n([\w.-]{1,80})$", re.MULTILINE)
_USER_VARIABLES = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER")
_HOST_VARIABLES = ("HOSTNAME", "HOST", "COMPUTERNAME", "SLURMD_NODENAME")
_SAY_NOTHING = frozenset({"", "root", "localhost", "localhost.localdomain", "none", "unknown", "(none)", "nvidia"})


class Searched(Protocol):
    """A text that is searched in the lines that hold one of some words."""

    def matches(self, pattern: re.Pattern[str], *needles: str, lines: int = 1) -> Iterator[re.Match[str]]:
        """The matches that begin in a line with one of `needles`, and are at most so many lines long."""


def learned(text: Searched) -> Identity:
    """The names that stand in the plain places of a pasted text, and those that its commands answer."""
    users: dict[str | None, None] = {}
    hosts: dict[str | None, None] = {}
    for found in chain(_places(text), _answers(text)):
        users[found.get("user")] = None
        hosts[found.get("host")] = None
    return Identity(tuple(_as_names(users)), tuple(_as_names(hosts)))


def _places(text: Searched) -> Iterator[Mapping[str, str | None]]:
    for place in PLACES.values():
        for match in text.matches(regex(place.pattern, re.MULTILINE), *place.needles):
            yield match.groupdict()


def _answers(text: Searched) -> Iterator[Mapping[str, str | None]]:
    for match in text.matches(_ANSWER, *_ASKED, lines=2):
        yield {_ASKED[match[1]]: match[2]}


def identity_of(about: Mapping[str, str], variables: Mapping[str, str]) -> Identity:
    """The names that a process knows: its own, and those of whoever started it."""
    users = _as_names([about.get("user"), *(variables.get(name) for name in _USER_VARIABLES)])
    hosts = _as_names([about.get("host"), *(variables.get(name) for name in _HOST_VARIABLES)])
    return Identity(tuple(users), tuple(hosts))


def _as_names(names: Iterable[str | None]) -> dict[str, None]:
    """The names that stand for somebody, with the first part of a full host name beside it."""
    known = [name for name in names if name and name.lower() not in _SAY_NOTHING and not name.isdigit()]
    return dict.fromkeys(part for name in known for part in (name, name.partition(".")[0]) if len(part) > 1)
