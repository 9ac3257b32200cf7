"""Where a build stops at a Node that needs a newer glibc than the image has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.tables.codes import limit

_NEWEST = frozenset({"stable", "latest", "lts", "current", "node", "--lts"})
_MAJOR = regex(r"v?(\d{1,2})(?:\.\d+)*")
_REPOSITORY = regex(r"deb\.nodesource\.com/setup_(\w{1,10})\.x")
_USERS = frozenset({"node", "npm", "npx", "yarn", "corepack"})
_PACKAGE = "nodejs"
_SOURCES = ("github-chromebrew-chromebrew-7961",)


def node_too_new(ground: Ground) -> Iterator[Finding]:
    """The first use of a Node that n or nvm installed, or its installation from NodeSource."""
    system = ground.base.system
    needed = limit("glibc-of-newer-node")
    if system is None or system.glibc is None or system.glibc >= needed or not ground.first:
        return
    repository = installed = False
    for step in ground.steps:
        words = called(step.command)
        repository = repository or _adds_repository(step.command)
        from_apt = repository and _PACKAGE in step.of_apt
        if (from_apt or (installed and _uses(words))) and step.command.decisive:
            yield stop(
                faults.GLIBC_TOO_OLD,
                f"Node {limit('node-of-newer-glibc')} and newer need glibc {needed} or newer; {system.title} has "
                f"{system.glibc}",
                command_subject(step.command),
                impact="The build stops: apt cannot install nodejs." if from_apt else "The build stops at node.",
                fix="Start from a newer distribution, or use an older release of Node.",
                sources=_SOURCES,
            )
            return
        installed = installed or _installs(words)


def _adds_repository(command: ShellCommand) -> bool:
    return any(_is_newer(found[1]) for found in map(_REPOSITORY.search, command.words) if found is not None)


def _installs(words: Sequence[Word]) -> bool:
    """True for a command of n or nvm that brings such a release."""
    if words[:1] == ("n",):
        return any(map(_is_newer, words[1:2]))
    return words[:2] == ("nvm", "install") and any(map(_is_newer, words[2:3]))


def _is_newer(release: str) -> bool:
    number = _MAJOR.fullmatch(release)
    return release in _NEWEST or (number is not None and Version.parse(number[1]) >= limit("node-of-newer-glibc"))


def _uses(words: Sequence[Word]) -> bool:
    return bool(words) and (words[0] in _USERS or words[:3] == ("jupyter", "labextension", "install"))
