"""Where a build stops because a user or group that it adds is in the base image already."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stops_absent import until
from envkit.tables.build_stops import FirstUser
from envkit.tables.known_images import PYTORCH_REPOSITORY
from envkit.tables.loader import read

_OPTIONS = {
    "useradd": ("-u", "--uid"),
    "adduser": ("-u", "--uid"),
    "groupadd": ("-g", "--gid"),
    "addgroup": ("-g", "--gid"),
}
_TWICE = frozenset({"-o", "--non-unique", "-f", "--force"})
_WITHDRAWN = regex(
    r"\b(?:userdel|deluser|groupdel|delgroup|usermod|groupmod)\b|/etc/(?:passwd|group)\b|\bgetent\b|\bid -"
)


def user_exists(ground: Ground) -> Iterator[Finding]:
    """The first user or group that takes the number of the one that the distribution's images have."""
    system = ground.base.system
    row = next((one for one in read(FirstUser) if system is not None and one.os_id == system.os_id), None)
    if row is None or system is None or not ground.first:
        return
    if not (ground.plain or ground.base.repository == PYTORCH_REPOSITORY):
        return
    for step in ground.steps:
        words = called(step.command)
        options = _OPTIONS.get(words[0] if words else "")
        if any(map(_WITHDRAWN.search, until(ground, step.place[1]))):
            return
        if options is None or not step.command.decisive or _TWICE & set(words):
            continue
        if _takes(words, options, str(row.number)):
            yield stop(
                faults.PATH_EXISTS,
                f"{words[0]} requests the ID {row.number}, which images of {system.title} give to {row.name}",
                command_subject(step.command),
                impact=f"The build stops: {row.number} is not unique, or already exists.",
                fix=f"Remove that user first (userdel -r {row.name}), or use a different number.",
                sources=row.sources,
            )
            return


def _takes(words: tuple[Word, ...], options: tuple[str, ...], number: str) -> bool:
    short, long = options
    pairs = zip(words, words[1:], strict=False)
    apart = any(option in options and value == number for option, value in pairs)
    return apart or f"{long}={number}" in words or f"{short}{number}" in words
