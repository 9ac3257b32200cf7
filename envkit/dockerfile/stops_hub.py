"""Where a build stops at a program that the newest release of its package, which pip has just installed, lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.base_replaced import is_confined
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step, is_pip
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.specifiers import is_bounded
from envkit.tables.build_stops import WithoutTorch
from envkit.tables.known_images import PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.program_stops import GoneProgram

_BRINGER = regex(r"(?P<name>[a-z-]+)(?:>=(?P<first>[\d.]+)<=(?P<last>[\d.]+))?")
_PINNED = regex(r"==(\d+(?:\.\d+){0,3})")
# Packages next to it that hold no release of it.
_APART = frozenset({"hf-transfer", "hf-xet", "pip", "setuptools", "torch", "torchaudio", "torchvision", "wheel"})
_TOOLS = frozenset({"conda", "mamba", "pdm", "poetry", "uv"})
_INSTALLS = frozenset({"install", "sync", "update", "create"})


def hub_program_gone(ground: Ground) -> Iterator[Finding]:
    """The first call of such a program."""
    for row in read(GoneProgram):
        there = f"{ground.base.repository}:{ground.base.tag or 'latest'}" in row.images
        fresh = (
            (ground.stock or ground.base.repository == PYTORCH_REPOSITORY) and ground.first and not ground.reads_unseen
        )
        clean = True  # nothing before may hold an older release
        for step in ground.steps:
            words = called(step.command)
            if there and _calls(words, row) and step.command.decisive:
                yield _told(step, row)
                break
            if not step.packages:
                there = there and not _installs_unseen(words)
                continue
            clean = clean and all(_holds_nothing(one, row) for one in step.packages)
            there = _after(step, row, ground, there=there, fresh=fresh and clean)


def _installs_unseen(words: Sequence[Word]) -> bool:
    """Whether a command installs packages of Python that are not known: from a list or a project that was not read."""
    tools = any(is_pip(word) or word in _TOOLS for word in words[:3])
    return tools and not _INSTALLS.isdisjoint(words)


def _calls(words: Sequence[Word], row: GoneProgram) -> bool:
    """Whether a command calls the program, by its name or as a module, with the word that it no longer takes."""
    named = words[:1] and words[0].rpartition("/")[2] == row.program
    module = len(words) > 2 and words[1] == "-m" and words[2] == row.program
    return bool(named or module) and (row.option is None or row.option in words)


def _told(step: Step, row: GoneProgram) -> Finding:
    if row.option is not None:
        return stop(
            faults.TOOL_OPTION,
            f"the newest {row.package} does not take {row.option}",
            subject_of(step.command.line, row.option),
            impact=f"The build stops: {row.program} rejects it.",
            fix=f"Write {row.instead}, or install '{row.package}<{row.since}'.",
            sources=row.sources,
        )
    return stop(
        faults.PROGRAM_MISSING,
        f"the newest {row.package} has no {row.program}: since {row.since}, the program is called {row.instead}",
        command_subject(step.command),
        impact=f"The build stops: {row.program} is not found, or only says that it no longer works.",
        fix=f"Call {row.instead} instead, or install '{row.package}<{row.since}'.",
        sources=row.sources,
    )


def _after(step: Step, row: GoneProgram, ground: Ground, *, there: bool, fresh: bool) -> bool:
    """Whether a release without the program is certainly there after a step that installs packages."""
    own = next((one for one in step.packages if normalized(one.name) == row.package), None)
    brings = own or next((one for one in step.packages if _takes_along(one, row)), None)
    if not all(_holds_nothing(one, row) for one in step.packages):
        return False
    if brings is None or brings.tool != "pip" or brings.held or brings.marker or is_confined(ground):
        return there and brings is None
    if own is not None and is_bounded(own.spec):
        return False
    python = python_for(brings, step, ground)
    newest = fresh or (own is not None and own.places.upgrades)
    return there or (newest and python is not None and python.release(2) >= row.python)


def _takes_along(package: Package, row: GoneProgram) -> bool:
    for word in row.bringers:
        named = _BRINGER.fullmatch(word)
        if named is None or named["name"] != normalized(package.name):
            continue
        if named["first"] is None:
            return not is_bounded(package.spec)
        pin = _PINNED.fullmatch(package.spec)
        span = VersionSpec.parse(f">={named['first']},<={named['last']}")
        return not package.spec or (pin is not None and span.holds(Version.parse(pin[1])))
    return False


def _holds_nothing(package: Package, row: GoneProgram) -> bool:
    """Whether no release that pip takes of a package holds the program's package back."""
    name = normalized(package.name)
    if name in row.holders:
        return False
    if name == row.package or _takes_along(package, row):
        return True
    free = name in _APART or any(name == one.package for one in read(WithoutTorch))
    return free and (name in _APART or not is_bounded(package.spec) or not _is_family(name))


def _is_family(name: str) -> bool:
    return name in ("transformers", "tokenizers", "datasets", "diffusers", "gradio", "sentence-transformers")
