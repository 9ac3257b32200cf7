"""Where a build stops at packages of the distribution and at downloads: they are not there, or no longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.base import archived_system
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import APT, SOURCES, Ground, arguments
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_stops import AptPythons, GoneDownload, RotatedKey
from envkit.tables.build_tools import Deb822System
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

_MANAGERS = (*APT, "yum", "dnf", "microdnf")
_FETCHES = ("update", "upgrade", "install", "makecache")
_PYTHON = regex(r"(?:lib)?python(\d\.\d+)(?:-(?:venv|dev|distutils|full|minimal|tk))?")
_PIP_OF_ONE = regex(r"python3\.\d{1,2}-pip")
_DISTUTILS = regex(r"python(3\.\d{1,2})-distutils")
_DEADSNAKES = ("distribution-packages", "github-deadsnakes-issues-251")
_OF_KEYS = (("gpg",), ("apt-key",))  # where one server fails, files often try the next
_SOURCES = "/etc/apt/sources.list"
CONDA_IMAGES = ("continuumio/miniconda3", "continuumio/anaconda3")
_USES_CHANNELS = ("install", "create", "update", "upgrade")


def apt_pythons(ground: Ground) -> Iterator[Finding]:
    """The first Python that neither the distribution has nor deadsnakes, where that is all that apt looks at."""
    system = ground.base.system
    if system is None or system.package_manager != "apt":
        return
    yield from _in_no_repository(ground) or _in_none_of_these(ground, system)


def _in_no_repository(ground: Ground) -> tuple[Finding, ...]:
    """The first package of a Python that no release of any distribution or repository has."""
    for step in ground.steps:
        for word in step.of_apt:
            found = _DISTUTILS.fullmatch(word)
            gone = found is not None and Version.parse(found[1]) >= limit("python-without-distutils")
            if (gone or _PIP_OF_ONE.fullmatch(word)) and step.command.decisive:
                told = f"there is no package {word} in any repository"
                told += f": Python {found[1]} has no distutils" if found is not None else ""
                impact = f"The build stops with: Unable to locate package {word}."
                where = subject_of(word.line, word)
                fix = "Install setuptools with pip." if gone else "Install python3-pip, or use get-pip.py."
                return (stop(faults.APT_WITHOUT_PACKAGE, told, where, impact=impact, fix=fix, sources=_DEADSNAKES),)
    return ()


def _in_none_of_these(ground: Ground, system: OperatingSystem) -> Iterator[Finding]:
    if not ground.plain or "repositories" in ground.tells:
        return
    rows = {row.repository: row for row in ground.of_system(AptPythons)}
    repositories = [None, "deadsnakes"] if "deadsnakes" in ground.tells else [None]
    if any(name not in rows for name in repositories):
        return
    asked = [rows[name] for name in repositories]
    known = {python for row in asked for python in row.pythons}
    for step in ground.steps:
        for word in step.of_apt:
            named = _PYTHON.fullmatch(word)
            if named is not None and Version.parse(named[1]) not in known:
                told = f"{system.title} has no package {word}"
                told += ", and deadsnakes no longer has one for it" if len(asked) > 1 else ""
                impact = f"The build stops with: Unable to locate package {word}."
                where = subject_of(word.line, word)
                yield stop(faults.APT_WITHOUT_PACKAGE, told, where, impact=impact, sources=asked[-1].sources)
                return


def _first(ground: Ground, tools: Sequence[str], verbs: Sequence[str]) -> ShellCommand | None:
    commands = (step.command for step in ground.steps)
    return next((command for command in commands if arguments(command, tools, verbs) is not None), None)


def rotated_key(ground: Ground) -> Iterator[Finding]:
    """The first apt-get update in an image that knows NVIDIA's old key alone."""
    base = ground.base
    tag = base.tag
    if base.own is not None and base.own.version is not None:  # of latest too
        tag = tag.replace("latest", str(base.own.version))
    row = next((row for row in read(RotatedKey) if row.holds(base.repository, tag)), None)
    if row is None or "key" in ground.tells:
        return
    update = _first(ground, APT, ("update",))
    if update is not None:
        told = f"{base.image} predates NVIDIA's 2022 signing key: apt-get update fails"
        impact = "The build stops with: NO_PUBKEY A4B469963BF863CC."
        yield stop(faults.APT_KEY_ROTATED, told, command_subject(update), impact=impact, sources=row.sources)


def archived(ground: Ground) -> Iterator[Finding]:
    """The first command that looks for packages of a distribution which has left its mirrors."""
    row = archived_system(ground.base)
    fetch = _first(ground, _MANAGERS, _FETCHES) if row is not None else None
    if row is not None and fetch is not None and not _sources_before(ground, fetch):
        told = f"The packages of {row.title} have moved from its mirrors to an archive"
        impact = "The build stops: the package lists are not found."
        yield stop(faults.ARCHIVE_GONE, told, command_subject(fetch), impact=impact, sources=row.sources)


def _sources_before(ground: Ground, fetch: ShellCommand) -> bool:
    """True where anything before a command, in its stage or one below, may name other sources."""
    if "sources" not in ground.tells or not ground.first:
        return "sources" in ground.tells
    before = takewhile(lambda command: command is not fetch, ground.commands)
    copied = (text for line, text in ground.copies if line < fetch.line)
    return any(SOURCES.search(text) for text in (*(" ".join(one.words) for one in before), *copied))


def sources_missing(ground: Ground) -> Iterator[Finding]:
    """The first edit of a list of sources that images of the distribution do not have."""
    system = ground.base.system
    if system is None or not ground.of_system(Deb822System):
        return
    made = any(_SOURCES in word for step in ground.steps for word in step.command.words if word.startswith(">"))
    if made or any("sources" in text for _, text in ground.copies):
        return
    for step in ground.steps:
        words = called(step.command)
        edits = words[:1] == ("sed",) and _SOURCES in words and step.command.decisive
        if words[:1] in (("cp",), ("mv",), ("tee",), ("touch",)) and words[-1:] == (_SOURCES,):
            return
        if ">" in words or ">>" in words:
            return
        if edits:
            yield stop(
                faults.SOURCES_MISSING,
                f"images of {system.title} have no {_SOURCES}",
                command_subject(step.command),
                impact=f"The build stops with: can't read {_SOURCES}.",
                sources=("github-debuerreotype-debian-sources",),
            )
            return


def conda_terms(ground: Ground) -> Iterator[Finding]:
    """The first use of the default channels by a conda that asks for their terms."""
    base = ground.base
    newest = base.repository in CONDA_IMAGES and base.tag in ("", "latest")
    if not (newest or "anaconda" in ground.tells) or "terms" in ground.tells:
        return
    for step in ground.steps:
        if arguments(step.command, ("conda",), _USES_CHANNELS) is not None:
            told = "conda stops here: the terms of service of its default channels have not been accepted"
            impact = "The build stops with: CondaToSNonInteractiveError."
            yield stop(faults.CONDA_TERMS, told, command_subject(step.command), impact=impact)
            return


def gone_download(ground: Ground) -> Iterator[Finding]:
    """The first download of a file that is no longer there."""
    rows = read(GoneDownload)
    added = [Word.at(line, word) for line, text in ground.copies for word in text.split()]
    steps = (step for step in ground.steps if step.command.decisive or called(step.command)[:1] not in _OF_KEYS)
    for words in (*(step.command.words for step in steps), added):
        for word in words:
            row = next((row for row in rows if row.address in word), None)
            if row is not None:
                impact = "The download fails, or returns a web page instead of the installer."
                where = subject_of(word.line, word.rpartition("/")[2])
                yield stop(faults.INSTALLER_GONE, row.title, where, impact=impact, fix=row.fix, sources=row.sources)
                return
