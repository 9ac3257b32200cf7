"""Where a build stops in the setup of a package: it imports what an environment for building does not have today."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import least_python
from envkit.dockerfile.newest_pip import builds_apart, with_newest_pip
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stops_absent import is_known
from envkit.dockerfile.stops_packages import asks_only
from envkit.dockerfile.stops_torch import Compiled, compiled_anew
from envkit.tables.build_tools import SetupImport
from envkit.tables.codes import limit
from envkit.tables.loader import read

_NO_ISOLATION = "--no-build-isolation"
_CONSTRAINED = regex(r"CONSTRAINT|BUILD_ISOLATION")
_NOT_ISOLATED = regex(r"--no-build-isolation.*|--build-constraint.*|--no-deps")


def setup_imports(ground: Ground) -> Iterator[Finding]:
    """The first package that is built in an environment of its own which lacks what its setup imports."""
    if any(_CONSTRAINED.search(name) for name in ground.environment) or _CONSTRAINED.search(" ".join(ground.texts)):
        return
    for step, newest in with_newest_pip(ground):
        words = called(step.command)
        if any(_NOT_ISOLATED.fullmatch(word) for word in words) or not step.command.decisive:
            continue
        found = next((one for one in _needing(step) if _isolated(words, step, ground, newest=newest or one[3])), None)
        if found is not None:
            line, name, row, _ = found
            yield stop(
                faults.PACKAGE_REFUSES,
                f"the setup of {name} imports {row.module}, which its build environment does not contain",
                command_subject(step.command, line),
                impact=f"The build stops with: No module named '{row.module}'.",
                fix=_FIXES[row.module],
                sources=row.sources,
            )
            return


_FIXES = {
    "pkg_resources": "Install an older setuptools that still has it, then this package with --no-build-isolation.",
    "pip": "Install it with --no-build-isolation.",
}


def _needing(step: Step) -> Iterator[tuple[int, str, SetupImport, bool]]:
    """What a step builds from source of these packages: line, name, row, and whether any pip builds it apart."""
    rows = {row.package: row for row in read(SetupImport)}
    for package in step.packages:
        row = rows.get(normalized(package.name))
        elsewhere = package.places.more or package.places.index or package.wheel is not None or package.tool != "pip"
        if row is not None and row.on_index and not elsewhere and asks_only(package, row.versions):
            yield package.line, package.name, row, row.apart is not None and asks_only(package, row.apart)
    addresses = [word for word in (*step.command.words, *step.clones) if "github.com/" in word]
    if "install" in step.command.words:
        for row in rows.values():
            found = next((word for word in addresses for one in row.repositories if is_of_repository(word, one)), None)
            if found is not None:
                yield found.line, row.package, row, False


def _isolated(words: tuple[Word, ...], step: Step, ground: Ground, *, newest: bool) -> bool:
    """Whether the command certainly builds in an environment of its own, with the setuptools of today."""
    caller = " ".join(words[: words.index("install")]) if "install" in words else ""
    python = ground.pythons.of(caller, step.place) or least_python(ground)
    return builds_apart(caller, ground, python, newest=newest)


def tool_missing(ground: Ground) -> Iterator[Finding]:
    """The first package whose setup imports a package that pip does not fetch for it, and that nothing brings."""
    if not _has_tools_of_its_own(ground):
        return
    brought: set[str] = set()
    for step, made in compiled_anew(ground):
        needing = next((one for one in made if _lacks_tool(one, brought)), None)
        if needing is not None and _NO_ISOLATION in step.command.words and step.command.decisive:
            module = needing.row.imports or ""
            yield stop(
                faults.PACKAGE_REFUSES,
                f"the setup of {needing.name} imports {module}, which no earlier command installs",
                command_subject(step.command, needing.line),
                impact=f"The build stops with: No module named '{module}'.",
                fix=f"Install what it builds with first: pip install {' '.join(needing.row.tools)}",
                sources=needing.row.sources,
            )
            return
        brought |= {normalized(one.name) for one in step.packages}
        if step.clones or not all(is_known(word) for word in step.of_apt):
            return


def _has_tools_of_its_own(ground: Ground) -> bool:
    """Whether all of the Python packages of an image are known: those of its distribution or Python, and the file's."""
    system = ground.base.system
    glibc = system.glibc if system is not None else None
    old = ground.plain and glibc is not None and glibc < limit("glibc-of-wheel-with-packaging")
    unread = ground.reads_unseen or ground.tells & {"copied", "bind", "python", "environment"}
    return ground.first and (old or ground.of_python) and not unread


def _lacks_tool(one: Compiled, brought: set[str]) -> bool:
    return bool(one.row.imports) and brought <= set(one.row.beside)
