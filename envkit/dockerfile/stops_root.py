"""Where a build stops because a step runs as a user who may not do what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import ShellCommand
from envkit.tables.build_stops import BaseUser
from envkit.tables.loader import read

_NAME = regex(r"[A-Za-z0-9_][\w.-]{0,40}")
_ROOT = frozenset({"root", "0"})
# What makes another user the same as root.
_AS_ROOT = regex(r"-o -u 0\b|-u 0\b|--uid[ =]0\b|chmod [ugo+]*s|setcap|\+s\b")
_PACKAGES = {
    tool: frozenset({"update", "upgrade", "install", "remove", "purge", "autoremove", "dist-upgrade"})
    for tool in ("apt-get", "apt")
}


def apt_without_root(ground: Ground) -> Iterator[Finding]:
    """The first use of apt after USER, or in an image that has another user from the start."""
    user = _base_user(ground) if ground.first else ""
    commands: dict[int, list[ShellCommand]] = {}
    for step in ground.steps:
        commands.setdefault(step.place[1], []).append(step.command)
    if any(_AS_ROOT.search(text) for text in ground.texts):
        return
    for part in ground.instructions:
        if part.keyword == "USER":
            name = part.text.strip().partition(":")[0].strip("\"'")
            user = name if _NAME.fullmatch(name) and name not in _ROOT else ""
        for command in commands.get(part.line, ()) if part.keyword == "RUN" and user else ():
            words = [word for word in command.words if "=" not in word]
            if words and command.decisive and _PACKAGES.get(words[0], frozenset()) & set(words[1:]):
                yield stop(
                    faults.USER_NOT_ROOT,
                    f"{words[0]} runs as the user {user}, who may not install packages",
                    command_subject(command),
                    impact="The build stops with: Permission denied (are you root?).",
                )
                return


def _base_user(ground: Ground) -> str:
    """The user of the base, where it is on record that it is not root."""
    return next((row.user for row in read(BaseUser) if re.fullmatch(row.images, ground.base.repository)), "")
