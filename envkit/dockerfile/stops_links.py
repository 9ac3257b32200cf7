"""Where a build stops at `ln -s`, as the path is there already."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import APT, Ground
from envkit.dockerfile.shell import called
from envkit.tables.loader import read
from envkit.tables.program_stops import SystemLink

_OPTIONS = regex(r"-[svnr]{1,3}|--symbolic|--verbose")
# What images of Python's own project have, beside the same with the number of their Python.
_OF_PYTHON = frozenset(f"/usr/local/bin/{name}" for name in ("pip", "pip3", "python", "python3"))
# After these it is not known what is there; rm of lists and caches alone is harmless.
_TAKES_AWAY = frozenset({"update-alternatives", "alternatives", "unlink", "mv"})


def link_exists(ground: Ground) -> Iterator[Finding]:
    """The first link without -f at a path that a package or the base image has."""
    system = ground.base.system
    if system is None or system.package_manager != "apt" or not ground.stock or not ground.first:
        return
    rows = [row for row in read(SystemLink) if system.os_id not in row.but]
    there = set(_OF_PYTHON) if ground.of_python else set[str]()
    for step in ground.steps:
        words = called(step.command)
        if not words:
            continue
        there.update(row.path for row in rows if row.package in step.of_apt)
        name = words[0].rpartition("/")[2]
        links = name == "ln" and any("s" in word for word in words[1:] if _OPTIONS.fullmatch(word))
        plain = [word for word in words[1:] if not word.startswith("-")]
        known = all(_OPTIONS.fullmatch(word) for word in words[1:] if word.startswith("-"))
        if links and known and len(plain) == 2 and plain[1] in there and step.command.decisive:
            yield stop(
                faults.PATH_EXISTS,
                f"{plain[1]} already exists, and ln replaces nothing without -f",
                command_subject(step.command, plain[1].line),
                impact=f"The build stops with: failed to create symbolic link '{plain[1]}': File exists.",
                fix="Use ln -sf, or remove the command.",
                sources=("distribution-packages",),
            )
            return
        if name in _TAKES_AWAY or (name in APT and {"remove", "purge", "autoremove"} & set(words)):
            there.clear()
        elif name == "rm":
            there = {path for path in there if not any(_covers(word, path) for word in words)}


def _covers(word: str, path: str) -> bool:
    """True where a word of rm may name a path."""
    return word.startswith("$") or "bin" in word and ("*" in word or word.rstrip("/") in path)
