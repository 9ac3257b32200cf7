"""Where a cloned program stops when it is set up, as it fetches a repository that was removed since."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import exec_form
from envkit.tables.loader import read
from envkit.tables.program_stops import GoneDependency

# What may put right what a program fetches: its code, its folder of repositories, another branch of it.
_MENDED = regex(r"\bsed\b|\bpatch\b|/repositories\b|skip-prepare|(?:-b|--branch|checkout|switch)[ =]+dev\b")
_STARTS = ("ENTRYPOINT", "CMD")


def dependency_gone(ground: Ground) -> Iterator[Finding]:
    """The first call of such a program that sets it up: in a step, or as the container starts."""
    for row in read(GoneDependency):
        folder = _folder(ground, row)
        texts = [part.text for part in ground.instructions]
        if not folder or any(_MENDED.search(text) or row.variable in text for text in texts):
            continue
        found = next((step for step in ground.steps if _sets_up(step, row, folder, ground)), None)
        start = next((part for part in ground.instructions if part.keyword in _STARTS and ground.last), None)
        if found is not None:
            yield _told(row, command_subject(found.command), "The build stops")
        elif start is not None:
            words = exec_form(start.text) or start.text.split()
            inside = _place(ground, start.line) == folder or any(word.startswith(f"{folder}/") for word in words)
            if inside and any(posixpath.basename(word) in row.programs for word in words):
                yield _told(row, subject_of(start.line, start.keyword), "The container stops as it starts")


def _folder(ground: Ground, row: GoneDependency) -> str:
    """The folder into which a step clones the project; '' where none does."""
    for step in ground.steps:
        words = called(step.command)
        if words[:2] != ("git", "clone") or not step.command.decisive:
            continue
        if any(is_of_repository(word, row.repository) for word in words):
            if words[-1] in (".", "./"):  # it may hold files, so that git stops before
                return ""
            at = _place(ground, step.place[1])
            target = words[-1] if "://" not in words[-1] else posixpath.basename(words[-1].rstrip("/"))
            return posixpath.normpath(posixpath.join(at, target.removesuffix(".git")))
    return ""


def _sets_up(step: Step, row: GoneDependency, folder: str, ground: Ground) -> bool:
    """Whether a step calls one of the programs, in the folder of the clone or by it."""
    words = called(step.command)
    files = {posixpath.basename(word) for word in words}
    named = not files.isdisjoint(row.programs) or any(f"{one}(" in word for one in row.programs for word in words)
    if not named or not step.command.decisive or words[:1] in (("chmod",), ("cp",), ("ls",)):
        return False
    run = next((part.text for part in ground.instructions if part.line == step.place[1]), "")
    return posixpath.basename(folder) in run or _place(ground, step.place[1]) == folder


def _place(ground: Ground, line: int) -> str:
    """The WORKDIR at a line, from what the stage itself says of it."""
    folder = "/"
    for part in ground.instructions:
        if part.keyword == "WORKDIR" and part.line < line:
            folder = part.entered(folder)
    return folder


def _told(row: GoneDependency, subject: str, what: str) -> Finding:
    name = row.repository.rpartition("/")[2]
    return stop(
        faults.INSTALLER_GONE,
        f"{name} clones {row.address} when it is set up, but that repository was removed",
        subject,
        impact=f"{what}: Repository not found.",
        fix=f"Set {row.variable} to a copy of the repository.",
        sources=row.sources,
    )
