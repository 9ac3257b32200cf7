"""Where a build stops at a package of which the pip of an old distribution takes the source, or no file at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.package_breaks import plain_name
from envkit.compat.package_wheels import pythons_named
from envkit.compat.software import some_version_meets
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.specifiers import is_bounded
from envkit.dockerfile.stops_packages import asks_only
from envkit.tables.codes import limit
from envkit.tables.installer import WheelTagRow, last_pip
from envkit.tables.loader import read
from envkit.tables.program_stops import OldPipSource, OldPipWheel, SystemPip
from envkit.tables.rows import OperatingSystem

# The pips of the two Pythons that apt has, each with the package that brings it.
_PIPS = {
    "3": ("python3-pip", regex(r"(?:/usr/bin/)?pip3|(?:/usr/bin/)?python3")),
    "2": ("python-pip", regex(r"(?:/usr/bin/)?pip2?|(?:/usr/bin/)?python2?")),
}
# What makes another Python, another pip, or an environment with a pip of its own; and the command that only installs
# the latter.
_OTHER_PYTHON = regex(r"(?i)venv|virtualenv|conda|mamba|pyenv|\buv\b|Python-\d|activate|poetry|pipenv|easy_install")
_INSTALLS_ENVIRONMENTS = frozenset({Word("install"), Word("virtualenv")})
_NAMED_ANEW = regex(r"(?:\bln\b|alternatives)[^\n&;]{0,160}\b(?:python|pip)")
# What installs packages that no command names.
_OF_A_PROJECT = frozenset({"setup.py", "."})
_LIST = regex(r"-r.*|--requirement(?:=.*)?")


def source_by_old_pip(ground: Ground) -> Iterator[Finding]:
    """The first package of which the pip of the distribution, not replaced before, takes a source that stops it.

    Or no file: its wheels may all be of a kind that this pip does not know yet.
    """
    system = ground.base.system
    rows = {(row.package, row.python): row for row in ground.of_system(OldPipSource)}
    wheels = _unknown_wheels(ground)
    if not (rows or wheels) or system is None or not ground.plain or not ground.first or ground.tells & _OTHERS:
        return
    pips: dict[str, re.Pattern[str]] = {}
    there: set[str] = set()
    of_apt: set[str] = set()
    for step in ground.steps:
        words = called(step.command)
        new_pip = next((one for one in step.packages if normalized(one.name) == "pip"), None)
        if (new_pip is not None and new_pip.places.upgrades) or _ends(step, ground):
            return
        of_apt.update(step.of_apt)
        pips |= {python: pip for python, (package, pip) in _PIPS.items() if package in step.of_apt}
        python = next((one for one, pip in pips.items() if words and pip.fullmatch(words[0])), None)
        if python is not None and "install" in words and step.command.decisive:
            for package in step.packages:
                unknown = wheels.get(normalized(package.name))
                if unknown is not None and unknown.hold_all_of(package, _python_of(system, python)):
                    yield _not_found(package, unknown, system)
                    return
                row = _row(rows, normalized(package.name), python)
                taken = _taken(rows, row, python)
                if row is None or taken is None or not _takes(package, row):
                    continue
                pinned = {normalized(one.name) for one in step.packages if row.takes and is_bounded(one.spec)}
                upgrades = package.places.upgrades and not row.takes  # also what apt has brought
                if not _is_there(taken, set() if upgrades else of_apt, there | pinned, words):
                    yield _found(package, row, taken, system)
                    return
        if new_pip is not None or ("install" in words and _installs_unseen(words, ground)):
            return
        there.update(normalized(one.name) for one in step.packages)


@record
class _UnknownWheels:
    """The wheels of a package that a pip does not know: those since a release."""

    pip: Version
    row: OldPipWheel
    known_by: WheelTagRow

    def hold_all_of(self, package: Package, python: Version | None) -> bool:
        """Whether all that is asked for has no other wheels; False for a release that is not for the Python at all."""
        if package.tool != "pip" or package.wheel is not None or package.marker or package.held:
            return False
        if package.places.index or package.places.more:
            return False
        try:
            wanted = VersionSpec.parse(package.spec) if package.spec else VersionSpec()
        except ValueError:
            return False
        if some_version_meets((wanted, VersionSpec((("<", self.row.since),)))):
            return False
        pythons = pythons_named(plain_name(self.row.package), package.spec)
        return python is not None and python in pythons


def _unknown_wheels(ground: Ground) -> dict[str, _UnknownWheels]:
    """For each package, the first release whose wheels are all of a tag that the distribution's pip does not know."""
    own = next(iter(ground.of_system(SystemPip)), None)
    if own is None:
        return {}
    tags = {row.tag: row for row in read(WheelTagRow) if row.pip > own.pip}
    found: dict[str, _UnknownWheels] = {}
    for row in sorted(read(OldPipWheel), key=lambda row: row.since):
        if row.tag in tags:
            found.setdefault(row.package, _UnknownWheels(own.pip, row, tags[row.tag]))
    return found


def _python_of(system: OperatingSystem, major: str) -> Version | None:
    """The Python of the distribution that the pip of a major version is for."""
    default = system.default_python
    if default is not None and str(default.major) == major:
        return default.release(2)
    return limit("last-python-2") if major == "2" else None


def _not_found(package: Package, unknown: _UnknownWheels, system: OperatingSystem) -> Finding:
    tag = unknown.known_by
    return stop(
        faults.PACKAGE_REFUSES,
        f"{package.asked} has no wheel that pip {unknown.pip} of {system.title} supports: its wheels are for {tag.tag}"
        f" or newer, which require pip {tag.pip}",
        subject_of(package.line, package.asked),
        impact="The build stops with: No matching distribution found.",
        fix=_last_pip(system),
        sources=tuple(dict.fromkeys((*unknown.row.sources, *tag.sources))),
    )


_OTHERS = frozenset({"deadsnakes", "get-pip", "copied"})


def _ends(step: Step, ground: Ground) -> bool:
    """True where another Python may be the one from here on."""
    words = called(step.command)
    other = any(map(_OTHER_PYTHON.search, words)) and not _INSTALLS_ENVIRONMENTS.issubset(words)
    return other or _NAMED_ANEW.search(" ".join(words)) is not None or not _OF_A_PROJECT.isdisjoint(words)


def _installs_unseen(words: tuple[Word, ...], ground: Ground) -> bool:
    return ground.reads_unseen and any(map(_LIST.fullmatch, words))


def _row(rows: Mapping[tuple[str, str], OldPipSource], name: str, python: str) -> OldPipSource | None:
    return rows.get((name, python)) or rows.get((name, ""))


def _taken(rows: Mapping[tuple[str, str], OldPipSource], row: OldPipSource | None, python: str) -> OldPipSource | None:
    """The row of what is taken as a source."""
    return _row(rows, row.takes, python) if row is not None and row.takes else row


def _takes(package: Package, row: OldPipSource) -> bool:
    """Whether such a pip takes one of the releases in question."""
    if package.tool != "pip" or package.wheel is not None or package.places.index or package.places.more:
        return False
    if not package.spec:
        return True
    return bool(row.versions) and (asks_only(package, row.versions) or _is_open(package))


def _is_open(package: Package) -> bool:
    try:
        clauses = VersionSpec.parse(package.spec).clauses
    except ValueError:
        return False
    return all(operator in (">", ">=") for operator, _ in clauses)


def _is_there(row: OldPipSource, of_apt: set[str], there: set[str], words: tuple[Word, ...]) -> bool:
    """True where what would be taken may be there already, or what its source needs."""
    if not there.isdisjoint((row.package, *row.unless, *row.needs)) or not set(row.needs).isdisjoint(words):
        return True
    return any(word in name for name in of_apt for word in row.unless)


def _found(package: Package, row: OldPipSource, taken: OldPipSource, system: OperatingSystem) -> Finding:
    because = f"requires {row.takes}, which {taken.because}" if row.takes else row.because
    return stop(
        faults.PACKAGE_REFUSES,
        f"{package.asked} {because} (pip {row.pip} of {system.title})",
        subject_of(package.line, package.asked),
        impact="The build stops while pip prepares a source.",
        fix=_last_pip(system),
        sources=tuple(dict.fromkeys((*row.sources, *taken.sources))),
    )


def _last_pip(system: OperatingSystem) -> str:
    """The remedy: the last pip for the distribution's own Python, which older ones would not find by themselves."""
    return f"Upgrade pip first: python3 -m pip install --upgrade '{last_pip(system.default_python) or 'pip'}'."
