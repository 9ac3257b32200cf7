"""Where a build, or the start of its container, stops at a program that neither the base nor the file provides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step, is_pip
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word, exec_form
from envkit.dockerfile.stops_sources import BRINGS, is_harmless
from envkit.tables.codes import limit
from envkit.tables.known_images import CUDA_REPOSITORY, PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.program_stops import AbsentProgram

# Packages that bring compilers, and none of the other programs.
_COMPILERS = frozenset(
    {"build-essential", "gcc", "g++", "make", "python3-dev", "python3-pip", "python3-venv", "python3-numpy"}
)
_TENSORFLOW = "tensorflow/tensorflow"
_FROM_GIT = "git+"
_PYTHON = "python"
_PYTHON_THREE = "python3"
_OWN_PYTHON = frozenset({"python", "environment", "deadsnakes"})
_WITHOUT_PIP = ("-m", "pip")
LEAN = "--no-install-recommends"
_GET_PIP = "get-pip.py"
_NO_PIP = "The pipe hides the error that {} is not found, and the build stops at the next pip: No module named pip"
_INTERPRETER = regex(r"(?:/usr/bin/)?python[\d.]{0,4}")
_OF_PIP = regex(r"pip|python[\d.]{0,4}-full")
# Commands whose arguments name groups and users, not programs.
_OF_USERS = frozenset({"usermod", "adduser", "useradd", "gpasswd", "groupadd", "addgroup", "echo", "which", "type"})
# A program by its path that is not one of the distribution: it may install anything, but for what only configures.
_OWN_PROGRAM = regex(r"(?!/usr/(?:s?bin|local/cuda)|/s?bin/|/etc/|\./configure$)[\w.~$-]{0,80}/\S{1,200}")
_STANDARD_FOLDER = regex(r"(?:/usr(?:/local)?)?/s?bin/?|/usr/local/(?:cuda|nvidia)[\w./-]{0,40}|/opt/nvidia/\S{0,80}|")


@record
class _Seen:
    """What the commands of a stage did before the one that is looked at."""

    given: list[tuple[Word, bool]]  # packages of apt, each with whether it came without what it recommends
    words: list[Word]  # of other commands
    by_pip: bool = False


def program_missing(ground: Ground) -> Iterator[Finding]:
    """The first call of a program that nothing provides; the start of the container, where every step passes."""
    kinds = kinds_of(ground)
    if not ground.first or not kinds or ground.tells & {"copied", "bind"}:
        return
    seen = _Seen([], [])
    for step, after in zip_longest(ground.steps, ground.steps[1:]):
        if any(BRINGS.search(text) for text in _before(ground, step)):
            return
        for name in _needed(step):
            row = _rows().get(name)
            stops = step.command.decisive or _feeds(step, after) or _feeds_pip(ground, step, after)
            if row is not None and stops and _lacks(row, kinds, seen, ground, step.command.line):
                piped = _feeds_pip(ground, step, after)
                impact = _NO_PIP.format(name) if piped else "The build stops with"
                yield _told(row, ground, command_subject(step.command), impact)
                return
        lean = LEAN in step.command.words
        if not all(is_known(word) for word in step.of_apt):
            return
        seen = _after(seen, step, lean=lean)
        if _OWN_PROGRAM.fullmatch(step.command.words[0]):
            return
    yield from _start(ground, kinds, seen)


def _feeds(step: Step, after: Step | None) -> bool:
    """Whether a step is piped into one that stops where nothing comes: tar, or apt-key, reading what it is given."""
    if after is None or step.place[:2] != after.place[:2] or step.command.conditional or not after.command.decisive:
        return False
    words = called(after.command)
    if words[:1] == ("apt-key",):
        return words[1:] == ("add", "-")
    if words[:1] != ("tar",):
        return False
    options = [word for at, word in enumerate(words[1:], 1) if word.startswith("-") or at == 1]
    names = [at for at, word in enumerate(words) if word in options and not word.startswith("--") and "f" in word]
    return not any("=" in word or word == "--file" for word in options) and all(
        words[at + 1 : at + 2] == ("-",) for at in names
    )


def _feeds_pip(ground: Ground, step: Step, after: Step | None) -> bool:
    """Whether a step is piped into a Python that installs pip, which a later one needs and nothing else brings.

    Without its input, that Python does nothing and does not stop.
    """
    if after is None or step.place[:2] != after.place[:2] or not any(_GET_PIP in word for word in step.command.words):
        return False
    if not ground.tells.isdisjoint(_OWN_PYTHON):  # which may have a pip
        return False
    words = called(after.command)
    runs = words[:1] and _INTERPRETER.fullmatch(words[0]) is not None and words[1:2] in ((), ("-",))
    by_apt = any(_OF_PIP.search(word) for one in ground.steps for word in one.of_apt)
    later = (one for one in ground.steps if one.place > after.place and one.command.decisive)
    return bool(runs) and not by_apt and any(one.packages and "pip" in " ".join(one.command.words[:3]) for one in later)


def _start(ground: Ground, kinds: frozenset[str], seen: _Seen) -> Iterator[Finding]:
    """What the container starts, where no stage comes after this one."""
    parts = {one.keyword: one for one in ground.instructions if one.keyword in ("ENTRYPOINT", "CMD")}
    part = parts.get("ENTRYPOINT") or parts.get("CMD")
    if part is None or not ground.last or len(ground.commands) != len(ground.steps):
        return
    row = _rows().get(_started(part))
    if row is not None and row.program == _PYTHON_THREE and _lacks(row, kinds, seen, ground, part.line):
        yield _told(row, ground, subject_of(part.line, part.keyword), "The container exits immediately")


def _started(part: Instruction) -> str:
    """The program that a container starts with."""
    words = exec_form(part.text)
    words = part.text.split() if words is None else words
    return words[0] if words else ""


def _told(row: AbsentProgram, ground: Ground, subject: str, impact: str) -> Finding:
    way = f"Install {row.package} with apt-get first." if row.package else f"Install {row.program} with pip first."
    if row.program == _PYTHON and ground.has_apt:
        way = "Use python3 (install it if the image does not have it), or install python-is-python3."
    return stop(
        faults.PROGRAM_MISSING,
        f"the image has no {row.program}, and no earlier command installs it",
        subject,
        impact=f"{impact}: {row.program}: not found." if impact.endswith("with") else f"{impact}.",
        fix=way,
        sources=row.sources,
    )


@lru_cache(maxsize=1)
def _rows() -> dict[str, AbsentProgram]:
    return {row.program: row for row in read(AbsentProgram)}


def until(ground: Ground, line: int) -> Iterator[str]:
    """The texts of the RUNs up to a line."""
    return (part.text for part in ground.instructions if part.keyword == "RUN" and part.line <= line)


def _before(ground: Ground, step: Step) -> Iterator[str]:
    """The texts of the RUNs before a step, and of its own what stands before its program is first named."""
    line = step.place[1]
    yield from until(ground, line - 1)
    own = (part.text for part in ground.instructions if part.keyword == "RUN" and part.line == line)
    yield from (text.partition(step.command.words[0])[0] for text in own)


def _after(seen: _Seen, step: Step, *, lean: bool) -> _Seen:
    """What a step adds."""
    words = called(step.command)
    of_apt = step.of_apt
    if of_apt:
        seen.given.extend((word, lean) for word in of_apt)
    elif not words or words[0] not in _OF_USERS:
        seen.words.extend(words[1:])
    return _Seen(seen.given, seen.words, seen.by_pip or bool(step.packages))


def _needed(step: Step) -> Iterator[str]:
    """The programs that a step calls, or that pip calls for it."""
    words = called(step.command)
    if step.command.words[0] == "sudo":
        yield "sudo"
    if not words:
        return
    by_pip = "install" in words and any(is_pip(word) for word in words[:3])
    if by_pip and any(word.startswith(_FROM_GIT) for word in words):
        yield "git"
    if words[1:3] != _WITHOUT_PIP:  # another finding tells that
        yield words[0]


def is_known(word: str) -> bool:
    """True for an option of apt, and for a package of which it is known what it brings."""
    name = word.partition("=")[0]
    return word.startswith("-") or name in _COMPILERS or is_harmless(name, lean=True) or name.endswith("/")


def _lacks(row: AbsentProgram, kinds: frozenset[str], seen: _Seen, ground: Ground, line: int) -> bool:
    """True where a program is certainly not there before a line."""
    by_pip = seen.by_pip or any(one.line < line for one in ground.unread)
    if not kinds.issubset(row.lacking) or (row.pip and by_pip):
        return False
    if row.program.startswith(_PYTHON) and (ground.tells & _OWN_PYTHON or not _is_python_three(row, ground)):
        return False
    if any(not _STANDARD_FOLDER.fullmatch(one) for one in _folders(ground)):
        return False
    for package, lean in seen.given:
        if any(one in package for one in (row.words if lean else (*row.words, *row.recommended))):
            return False
        if row.program == _PYTHON and package == _PYTHON:
            return False
    named = _named(row.program)
    copies = (text for at, text in ground.copies if at < line)
    values = (*ground.environment, *ground.environment.values())
    return not any(named.search(text) for text in (*seen.words, *copies, *values))


def _folders(ground: Ground) -> Sequence[str]:
    """The folders that ENV adds to PATH."""
    return [one for one in ground.environment.get("PATH", "").split(":") if not one.startswith("$")]


def _is_python_three(row: AbsentProgram, ground: Ground) -> bool:
    """False for `python` in a distribution whose packages may bring Python 2."""
    system = ground.base.system
    if row.program != _PYTHON:
        return True
    return system is not None and system.glibc is not None and system.glibc >= limit("glibc-without-python-2")


@lru_cache(maxsize=64)
def _named(program: str) -> re.Pattern[str]:
    """The program by its name where something may provide it: a path, a package, an archive."""
    end = r"(?:[\s\"']|$)" if program == _PYTHON else r"(?:[-_.\d=<>~!\[\s\"']|$)"
    return re.compile(rf"(?:^|[\s/\"']){re.escape(program)}{end}")


def kinds_of(ground: Ground) -> frozenset[str]:
    """Which kind of image the base is; empty for one of which it is not known what it lacks."""
    base = ground.base
    if ground.of_python:
        words = base.tag.split("-")
        apt = not any(word.startswith(("alpine", "windows")) for word in words)
        return frozenset({"slim" if "slim" in words else "python"} if apt else ())
    own = base.own.version if base.own is not None else None
    if base.repository == _TENSORFLOW:
        old = own is not None and own < limit("tensorflow-images-without-git")
        return frozenset({"tensorflow"} if old else ())
    if base.repository == PYTORCH_REPOSITORY:
        since = own is not None and own >= limit("first-pytorch-image-without-git")
        return frozenset({"pytorch"} if since and base.tag.endswith("-runtime") else ())
    return _of_plain(ground)


def _of_plain(ground: Ground) -> frozenset[str]:
    base = ground.base
    if not ground.plain or not ground.has_apt or base.system is None or base.system.glibc is None:
        return frozenset()
    old = base.system.glibc < limit("glibc-of-lean-images")
    if base.repository != CUDA_REPOSITORY:
        return frozenset({"old" if old else "plain"})
    if base.row is None:
        return frozenset()
    devel = base.row.flavor == "devel"
    return frozenset({*(["old"] if old else []), *(["devel"] if devel else [] if old else ["cuda"])})
