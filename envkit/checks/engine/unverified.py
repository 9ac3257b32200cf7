"""Toolkits of which NVIDIA has published no checksum for some file: the installer takes them only if it is told to."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Remedy
from envkit.tables.loader import read
from envkit.tables.rows import Runfile

_ACCEPT = "--accept-unverified"
_INSTALL = ("envkit", "install", "--cuda")
_WORDS = regex(r"\benvkit install --cuda (?P<cuda>\d{1,2}\.\d)[^.;)]{0,30}? --run\b(?! --accept)")
_WHY = (
    " NVIDIA has published no checksum for some files of this CUDA release (its patches): --accept-unverified installs "
    "them all the same, from NVIDIA's own server."
)


def accepted(given: Remedy) -> Remedy:
    """The remedy with the option for such a toolkit, in its commands and in its words."""
    steps = tuple(map(_accepted, given.steps))
    advice = _WORDS.sub(
        lambda match: f"{match[0]} {_ACCEPT}" if match["cuda"] in _unverified() else match[0], given.advice
    )
    if steps == given.steps and advice == given.advice:
        return given
    return Remedy(f"{advice}{_WHY}", steps)


def _accepted(step: Command) -> Command:
    if step.words[:3] != _INSTALL or _ACCEPT in step.words or _line(step.words[3]) not in _unverified():
        return step
    return replace(step, words=(*step.words, _ACCEPT))


def _line(words: str) -> str:
    version = Version.find(words)
    return str(version.release(2)) if version is not None else ""


@cache
def _unverified() -> frozenset[str]:
    """The release lines, such as 10.2, whose newest release has a patch without any checksum."""
    newest: dict[str, Version] = {}
    for row in read(Runfile):
        line = str(row.cuda.release(2))
        newest[line] = max(newest.get(line, row.cuda), row.cuda)
    bare = (row for row in read(Runfile) if row.kind == "patch" and not (row.sha256 or row.md5))
    return frozenset(line for row in bare if newest[line := str(row.cuda.release(2))] == row.cuda)
