"""Where a build stops at a conda that the image has not, or that an installer put into a folder not on PATH."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.tables.known_images import PYTORCH_REPOSITORY

_INSTALLER = regex(r"(?i)(?:mini|ana)conda|miniforge|mambaforge")
_SCRIPT = regex(r"\S{0,200}\.sh")
_PROGRAMS = frozenset({"conda", "mamba"})
# What a RUN finds it by all the same, and what puts it into a folder of PATH for all.
_FOUND = regex(r"(?m)\bPATH=|\bsource\b|(?:^|[\s;&(])\.\s|\beval\b|bash\s+-\S*[il]|--login|\bcd\b")
_LINKED = regex(r"/s?bin/?(?:\s|$)|/usr/(?:local/)?bin/(?:conda|mamba)|shell\.(?:bash|posix)")


def conda_unfound(ground: Ground) -> Iterator[Finding]:
    """The first call of conda by its name alone, in an image that has none but the installed one."""
    if not ground.plain or not ground.first or ground.tells & {"copied", "bind"}:
        return
    if any("conda" in text or "forge" in text or "$" in text for text in ground.environment.get("PATH", "").split(":")):
        return
    if any(part.keyword == "SHELL" for part in ground.instructions) or "BASH_ENV" in ground.environment:
        return
    texts = ground.written
    if any(_LINKED.search(text) for text in texts) or not any(_INSTALLER.search(text) for text in texts):
        return
    runs = {part.line: part.text for part in ground.instructions if part.keyword == "RUN"}
    installed = False
    for step in ground.steps:
        words = called(step.command)
        if any(_SCRIPT.fullmatch(word) for word in words) and not {"-b", "-bp", "-bfp", "-bf", "-bu"}.isdisjoint(words):
            installed = True
        elif installed and words and words[0] in _PROGRAMS and step.command.decisive:
            if _FOUND.search(runs.get(step.place[1], "PATH=")):
                continue
            yield stop(
                faults.PROGRAM_MISSING,
                f"{words[0]} is not on PATH: its installer adds it to no file that the shell of RUN reads",
                command_subject(step.command),
                impact=f"The build stops: {words[0]} is not found.",
                fix="Add the folder after the installer: ENV PATH=/opt/conda/bin:$PATH.",
            )
            return


def conda_gone(ground: Ground) -> Iterator[Finding]:
    """The first call of conda in an image of PyTorch that has the Python of its distribution instead."""
    base = ground.base
    if base.repository != PYTORCH_REPOSITORY or not ground.has_apt or not ground.first:
        return
    if ground.tells & {"copied", "bind"} or any(_INSTALLER.search(text) for text in ground.written):
        return
    for step in ground.steps:
        words = called(step.command)
        if words and words[0] in _PROGRAMS and step.command.decisive:
            yield stop(
                faults.PROGRAM_MISSING,
                f"{base.image} has no {words[0]}: its Python is that of the distribution",
                command_subject(step.command),
                impact=f"The build stops with: {words[0]}: not found.",
                fix="Install the packages with pip, or start from an image with conda, such as condaforge/miniforge3.",
                sources=("github-meta-pytorch-monarch-2284",),
            )
            return
