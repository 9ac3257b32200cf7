"""Where a build stops in a project that it has cloned: a script that the newest state no longer has."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.clones import cloned_from, is_of_repository
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.loader import read
from envkit.tables.program_stops import GoneScript

_SHELLS = frozenset({"bash", "sh", "."})
_CHECKS_OUT = frozenset({"checkout", "reset", "switch"})
_NEWEST = frozenset({"main", "master"})
_BRANCH = ("-b", "--branch")


def script_gone(ground: Ground) -> Iterator[Finding]:
    """The first such script that a command runs in the folder into which the same RUN has cloned the project."""
    cloned: dict[str, tuple[GoneScript, ...]] = {}
    here: tuple[GoneScript, ...] = ()
    line = 0
    for step in ground.steps:
        if step.place[1] != line:
            line, here, cloned = step.place[1], (), {}
        words = called(step.command)
        if words[:1] == ("cd",):
            here = cloned.get(posixpath.normpath(words[1]), ()) if len(words) > 1 else ()
        elif words[:1] == ("git",) and not _CHECKS_OUT.isdisjoint(words):
            here, cloned = (), {}
        elif words[:1] == ("git",):
            cloned.update({folder: _rows(address) for folder, address in cloned_from(words, "") if _is_newest(words)})
        row = next((row for row in here if row.script == _run(words)), None)
        if row is not None and step.command.decisive:
            yield stop(
                faults.INSTALLER_GONE,
                f"the current {row.repository.rpartition('/')[2]} has no {row.script}",
                command_subject(step.command),
                impact=f"The build stops: {row.script} is not found.",
                fix=row.instead,
                sources=row.sources,
            )
            return


def _rows(address: str) -> tuple[GoneScript, ...]:
    return tuple(row for row in read(GoneScript) if is_of_repository(address, row.repository))


def _is_newest(words: Sequence[Word]) -> bool:
    """True for a clone of the main branch as it is now."""
    joined = any(word.startswith("--branch=") for word in words)
    pairs = zip(words, words[1:], strict=False)
    return not joined and all(name in _NEWEST for option, name in pairs if option in _BRANCH)


def _run(words: Sequence[Word]) -> str:
    """The script of the folder that a command runs; '' for another program."""
    if words[:1] and words[0] in _SHELLS:
        return words[1].removeprefix("./") if len(words) > 1 else ""
    return words[0].removeprefix("./") if words and words[0].startswith("./") else ""
