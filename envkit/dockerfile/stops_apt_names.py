"""Where apt has no package by its name: compilers of another release, names that no package has, PPAs that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_tools import GonePpa
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

_COMPILER = regex(r"(?:gcc|g\+\+|gfortran)-(\d{1,2}(?:\.\d)?)")
# Policy: a name has small letters, digits, + - and . alone.
_NO_NAME = regex(r"lib-[\w.-]+|[a-z][a-z0-9.+-]*_[a-z0-9_.+-]+|[a-z]+[A-Z][A-Za-z0-9-]*")
_ADDS = frozenset({"add-apt-repository", "apt-add-repository"})


def compilers(ground: Ground) -> Iterator[Finding]:
    """The first compiler of GCC that the distribution has no package of, where its own sources are all there are."""
    system = ground.base.system
    if system is None or system.package_manager != "apt" or not system.installable_gcc:
        return
    if not ground.plain or "repositories" in ground.tells:
        return
    there = {str(one) for one in system.installable_gcc}
    for step in ground.steps:
        for word in arguments(step.command, APT, ("install",)) or ():
            named = _COMPILER.fullmatch(word)
            if named is not None and named[1] not in there and step.command.decisive:
                yield _without(word, f"{system.title} has no package {word}", f"Install {_nearest(word, system)}.")
                return


def _nearest(word: Word, system: OperatingSystem) -> str:
    return f"{word.rpartition('-')[0]}-{min(system.installable_gcc)}"


def no_names(ground: Ground) -> Iterator[Finding]:
    """The first word that cannot be the name of a package."""
    if ground.base.system is None or ground.base.system.package_manager != "apt":
        return
    for step in ground.steps:
        for word in arguments(step.command, APT, ("install",)) or ():
            if _NO_NAME.fullmatch(word) and step.command.decisive:
                yield _without(word, f"no package has a name like {word}", "Correct its name.")
                return


def _without(word: Word, told: str, fix: str) -> Finding:
    impact = f"The build stops with: Unable to locate package {word}."
    return stop(faults.APT_WITHOUT_PACKAGE, told, subject_of(word.line, word), impact=impact, fix=fix)


def gone_ppas(ground: Ground) -> Iterator[Finding]:
    """The first PPA that is added and no longer there."""
    rows = {f"ppa:{row.name}": row for row in read(GonePpa)}
    for step in ground.steps:
        words = called(step.command)
        row = next((rows[word] for word in words if word in rows), None) if words and words[0] in _ADDS else None
        if row is not None and step.command.decisive and "--remove" not in words:
            yield stop(
                faults.APT_WITHOUT_PACKAGE,
                f"the PPA {row.name} is no longer there",
                command_subject(step.command),
                impact="The build stops with: Cannot add PPA.",
                fix="Start from a distribution that has the package.",
                sources=row.sources,
            )
            return
