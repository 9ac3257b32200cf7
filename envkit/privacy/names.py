"""What a machine and its users are called: from the process that looked, or from the plain places of a pasted text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Protocol

from envkit._startup.regex import regex
from envkit.model import Identity

_USER = r"(?P<user>[A-Za-z_][\w.-]{0,31})"
_HOST = r"(?P<host>(?=[\d.-]{0,80}[A-Za-z])[A-Za-z0-9][\w-]{0,62}(?:\.[\w-]{1,62}){0,8})"
_SET_TO = r"[\"']?(?:=|: ?)[\"']?"
_STAMP = r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?)"
_NO_NAME = r"(?!(?:is|was|has|and|or|the|to|with|for|not|in|side|memory|process) )"
# where a name stands, each within a line; groups `user` and `host`
PLACES = {
    "prompt": rf"^(?:\([\w.-]{{1,40}}\) )?\[?{_USER}@{_HOST}(?=(?:[: ][^\n$#%>]{{0,160}})?\]?[$#%>](?: |$))",
    "syslog": rf"^{_STAMP} {_HOST}(?= [\w./()-]{{1,60}}(?:\[\d{{1,9}}\])?: )",
    "journal": rf"^\[ {{0,9}}\d{{1,9}}\.\d{{1,9}}\] {_HOST}(?= kernel: )",
    "uname": rf"\bLinux {_HOST}(?= \d{{1,2}}\.\d{{1,3}}[.-])",
    "user_variable": rf"\b(?:USER|LOGNAME|USERNAME|\w{{1,40}}_(?:USER|USERNAME)){_SET_TO}{_USER}",
    "host_variable": r"\b(?:HOST|HOSTNAME|COMPUTERNAME|SERVERNAME|NODENAME|MASTER_ADDR|"
    rf"\w{{1,40}}_(?:HOST|HOSTNAME|NODE|NODENAME|NODE_NAME)){_SET_TO}{_HOST}",
    "requested": rf"\bRequested-By: {_USER}",
    "host_field": rf"(?i:\b(?:static )?(?:host ?name|node ?name|fqdn|server name)){_SET_TO} {{0,20}}{_HOST}",
    "this_host": rf"\b(?:[Oo]n this host \(|for host: ){_HOST}",
    "nccl": rf"^{_HOST}(?=:\d{{1,9}}:\d{{1,9}} \[\d{{1,3}}\] )",
    "ssh": rf"\b(?:ssh|scp|sftp|mosh|rsync) (?:-\w+ ){{0,6}}{_USER}@{_HOST}",
    "slurm": rf"(?:\b(?:srun|slurmstepd|slurmd): error:|\bJOB \d{{1,12}} ON) {_HOST}",
    "windows": r"^(?:\([^)\n]{1,40}\) )?(?:PS )?[A-Z]:\\Users\\(?P<user>[^\\/:*?\"<>|\n]{1,40})",
}
# what each of these lines holds; a long log is looked at there alone
_NEEDLES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("@",),
    "syslog": (": ",),
    "journal": (" kernel: ",),
    "uname": ("Linux ",),
    "user_variable": ("USER", "LOGNAME"),
    "host_variable": ("HOST", "NAME", "MASTER_ADDR", "_NODE"),
    "requested": ("Requested-By: ",),
    "host_field": tuple(
        f"{first}{gap}{rest}"
        for word, gaps, end in (("host", ("", " "), "name"), ("node", ("", " "), "name"), ("server", (" ",), "name"))
        for first in (word, word.capitalize(), word.upper())
        for gap in gaps
        for rest in (end, end.capitalize(), end.upper())
    )
    + ("fqdn", "Fqdn", "FQDN"),
    "this_host": ("this host (", "for host: "),
    "nccl": ("] ",),
    "ssh": ("ssh ", "scp ", "sftp ", "mosh ", "rsync "),
    "slurm": ("srun", "slurm", "JOB "),
    "windows": (":\\Users\\",),
}
# where a word may be a name: it is one when it means nothing else
LIKELY_PLACES = {
    "on_host": rf"(?i:\b(?:on|from|to) (?:host|node|server|machine|worker)) {_NO_NAME}[\"'\[]?{_HOST}",
}
_ASKED = {"whoami": "user", "id -un": "user", "hostname": "host", "hostname -s": "host", "hostname -f": "host"}
_ANSWER = regex(r"[$#%>] (whoami|id -un|hostname(?: -[sf])?)\n([\w.-]{1,80})$", re.MULTILINE)
_USER_VARIABLES = ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER")
_HOST_VARIABLES = ("HOSTNAME", "HOST", "COMPUTERNAME", "SLURMD_NODENAME")
_SAY_NOTHING = frozenset({"", "root", "localhost", "localhost.localdomain", "none", "unknown", "(none)"})


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
    for name, pattern in PLACES.items():
        for match in text.matches(regex(pattern, re.MULTILINE), *_NEEDLES[name]):
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
