"""Hosts behind real ssh servers: how each answers, and the state that each has to end in."""

from __future__ import annotations

from dataclasses import dataclass

LIMIT_S = 20  # that a run gives each host
DEBIAN = "debian:12"
_SESSION = r"""
session=$$
while [ "$(cat /proc/$session/comm)" != sshd ]; do session=$(sed -n 's/^PPid:\t//p' /proc/$session/status); done
"""


@dataclass(frozen=True)
class SshHost:
    """One host. `python` is what its `python3` is: the system's own, a script, or with '' none at all.

    `system` is what its container is made of; with `genuine` the Python of that system takes the script's place there.
    """

    ends: str
    python: str | None = None
    system: str = DEBIAN
    genuine: bool = False
    packages: str = "python3"  # of its container
    disk: str = ""  # what is wrong with the place for files: it is `full`, or `read-only`
    seconds: tuple[float, float] = (0, LIMIT_S + 40)  # the least and the most that it may take, on a busy machine, too


def _script(*lines: str) -> str:
    return "\n".join(("#!/bin/sh", *lines, ""))


_TOO_OLD = _script("echo 'envkit needs Python 3.10' >&2", "exit 2")
HOSTS = {
    "well1": SshHost("collected"),
    "well2": SshHost("collected", system="ubuntu:22.04"),
    "well3": SshHost("collected", system="ubuntu:24.04"),
    "old": SshHost("text", _TOO_OLD, system="ubuntu:20.04", genuine=True),
    "older": SshHost("text", _TOO_OLD, system="ubuntu:18.04", genuine=True),
    "minimal": SshHost("text", _TOO_OLD, genuine=True, packages="python3-minimal"),
    "none": SshHost("text", "", packages=""),
    "sleeping": SshHost("timed-out", _script("exec sleep 300"), seconds=(LIMIT_S, LIMIT_S + 40)),
    "deaf": SshHost("hung", _script("trap '' TERM", "while :; do sleep 1; done"), seconds=(LIMIT_S + 5, LIMIT_S + 45)),
    "rubbish": SshHost("unreadable", _script("head -c 3000000 /dev/urandom")),
    "megabytes": SshHost("unreadable", _script("head -c 6000000 /dev/zero | tr '\\000' '\\001'")),
    "half": SshHost("unreadable", _script("""printf '{"schema": 1, "system": {"os"'""")),
    "silent": SshHost("unreadable", _script("exit 0")),
    "dying": SshHost("crashed", _script("""printf '{"schema": 1, "system": {"os"'""", "kill -9 $$")),
    "lost": SshHost("unreachable", _script(_SESSION, "kill -9 $session")),  # the connection ends half-way
    # nothing comes any more, and nobody says so
    "frozen": SshHost(
        "unreachable", _script(_SESSION, "kill -STOP $session; sleep 60; kill -9 $session"), seconds=(20, LIMIT_S + 90)
    ),
    "full": SshHost("no-space", disk="full"),
    "locked": SshHost("crashed", disk="read-only"),
}
REFUSED, MUTE = "refused", "mute"  # nothing listens there; nothing answers there
RACK = ("well1", "old")  # a group of the inventory
STATES = {name: host.ends for name, host in HOSTS.items()} | {REFUSED: "unreachable", MUTE: "unreachable"}
SYSTEMS = {name: host.system.replace(":", "") for name, host in HOSTS.items() if host.ends in ("collected", "text")}
