"""Where a build stops at the pip of the distribution: it cannot be replaced, or is too old for a Python or a list."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, package_subject, stop
from envkit.dockerfile.ground import APT, Ground, Step, arguments
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_tools import FixedPip, PipEnd, PipNamedPip3
from envkit.tables.codes import limit
from envkit.tables.program_stops import SystemPip

_PIP = regex(r"(?:/usr/bin/)?pip(?:3(?:\.\d{1,2})?)?")
_PYTHON = regex(r"(?:/usr/bin/)?python(?:3(?:\.\d{1,2})?)?")
_REPLACES = frozenset({"-U", "--upgrade", "--force-reinstall"})
_LEAVES = frozenset({"-I", "--ignore-installed", "--user", "--target", "-t", "--prefix", "--root", "--dry-run"})
_NAME = regex(r"(?P<name>pip|wheel)(?P<spec>[<>=!~].*)?")
_SCRIPT = "get-pip.py"
_PIP_OF_TWO = "python-pip"


def pip_fixed(ground: Ground) -> Iterator[Finding]:
    """The first command that replaces a pip of which the distribution holds no list of files."""
    system = ground.base.system
    row = next(iter(ground.of_system(FixedPip)), None)
    if row is None or system is None or not ground.plain or "environment" in ground.tells:
        return
    if any("IGNORE_INSTALLED" in name for name in ground.environment):
        return
    default = f"python{system.default_python.release(2)}" if system.default_python is not None else ""
    there = False
    before: tuple[Word, ...] = ()
    for step in ground.steps:
        words = called(step.command)
        there = there or "python3-pip" in step.of_apt
        taken = _taken(words, before)
        before = words
        other = bool(words) and "." in words[0] and not words[0].endswith(default)  # it has no mark
        if there and taken and step.command.decisive and (other or "leave" in ground.tells):
            yield stop(
                faults.PYTHON_MANAGED,
                f"pip cannot replace the {taken} of {row.title}: the distribution's package has no list of its files",
                command_subject(step.command),
                impact=f"The build stops with: Cannot uninstall {taken}, RECORD file not found.",
                fix="Add --ignore-installed, do not upgrade it, or use a virtual environment.",
                sources=row.sources,
            )
            return
        if there and any(word in ("purge", "remove", "autoremove") for word in words):
            return


def pip_is_pip3(ground: Ground) -> Iterator[Finding]:
    """The first call of a pip where the distribution's package brings pip3 alone, and no command made the other."""
    row = next(iter(ground.of_system(PipNamedPip3)), None)
    names = ground.pythons.callers
    if row is None or names is None or not ground.plain or not ground.first:
        return
    if ground.tells & {"environment", "copied"}:
        return
    there = False
    for step in ground.steps:
        given = step.of_apt
        if any(word == _PIP_OF_TWO or "$" in word for word in given):
            return
        there = there or "python3-pip" in given
        words = called(step.command)
        if there and words[:2] == ("pip", "install") and not names.follow("pip", step.place):
            yield stop(
                faults.PIP_MISSING,
                f"on {row.title}, the package python3-pip provides pip3, but no pip",
                command_subject(step.command),
                impact="The build fails: pip is not found.",
                fix="Call pip3, or python3 -m pip.",
                sources=row.sources,
            )
            return


def _taken(words: tuple[Word, ...], before: tuple[Word, ...]) -> str:
    """What of the distribution a command replaces: pip or wheel; '' for nothing."""
    if not words or not _LEAVES.isdisjoint(words):
        return ""
    python = _PYTHON.fullmatch(words[0]) is not None
    if python and (any(one.endswith(_SCRIPT) for one in words[1:2]) or (words[1:] in ((), ("-",)) and _fed(before))):
        return "pip"
    start = 2 if python and words[1:2] == ("-m",) else 0
    if _PIP.fullmatch(words[start] if len(words) > start else "") is None or words[start + 1 : start + 2] != (
        "install",
    ):
        return ""
    given = words[start + 2 :]
    named = next((found for found in map(_NAME.fullmatch, given) if found is not None), None)
    replaces = not _REPLACES.isdisjoint(given) or (
        named is not None and named["spec"] is not None and "=" in named["spec"]
    )
    return named["name"] if named is not None and replaces else ""


def _fed(before: tuple[Word, ...]) -> bool:
    return any(word.endswith(_SCRIPT) for word in before)


def pip_too_old(ground: Ground) -> Iterator[Finding]:
    """The first call of a distribution's pip by a Python that is too new for it.

    A Python that is named itself has to be one that a file adds: the distribution has no such one.
    """
    row = next(iter(ground.of_system(PipEnd)), None)
    if row is None or not ground.plain or "environment" in ground.tells:
        return
    there = False
    for step in ground.steps:
        words = called(step.command)
        there = there or "python3-pip" in step.of_apt
        if any(word.endswith(_SCRIPT) or word == "ensurepip" for word in words):
            return
        if "install" not in words or arguments(step.command, APT, ("install",)) is not None:
            continue
        caller = " ".join(words[: words.index(Word("install"))])
        by_module = _PYTHON.fullmatch(words[0]) is not None and words[1:3] == ("-m", "pip")
        judged = _PIP.fullmatch(words[0]) is not None or (by_module and "deadsnakes" in ground.tells)
        python = ground.pythons.of(caller, step.place) if judged else None
        if there and python is not None and python >= row.python and step.command.decisive:
            yield stop(
                faults.PIP_MISSING,
                f"the pip of {row.title} does not run on Python {python}, which has no distutils",
                command_subject(step.command),
                impact="The build stops with: No module named 'distutils'.",
                fix=f"Run {words[0]} -m ensurepip --upgrade or get-pip.py first, or use a virtual environment.",
                sources=row.sources,
            )
            return
        if any(normalized(one.name) == "pip" for one in step.packages):
            return  # it is another pip from here on


def named_twice(ground: Ground) -> Iterator[Finding]:
    """The first package that a command names in two ways, where the distribution's pip stops at that."""
    row = next(iter(ground.of_system(SystemPip)), None)
    system = ground.base.system
    if row is None or system is None or row.pip >= limit("pip-with-resolver") or not ground.plain or not ground.first:
        return
    if ground.tells & {"environment", "deadsnakes", "get-pip"}:
        return
    there = False
    for step in ground.steps:
        words = called(step.command)
        there = there or "python3-pip" in step.of_apt
        if any(normalized(one.name) == "pip" for one in step.packages):
            return
        twice = _twice(step) if there and step.command.decisive else None
        if twice is not None and (_PIP.fullmatch(words[0]) or words[1:3] == ("-m", "pip")):
            yield stop(
                faults.PACKAGE_REFUSES,
                f"pip {row.pip} of {system.title} refuses a list that names {twice.name} twice",
                package_subject(twice),
                impact="The build stops with: Double requirement given.",
                fix=f"Name {twice.name} once, or upgrade pip first.",
                sources=(*row.sources, "pip-news"),
            )
            return


def _twice(step: Step) -> Package | None:
    """The package that is named with another release before."""
    specs: dict[tuple[str, tuple[str, ...]], str] = {}
    for package in step.packages:
        key = (normalized(package.name), package.extras)
        if package.tool != "pip" or package.marker or package.held:
            continue
        if specs.setdefault(key, package.spec) != package.spec:
            return package
    return None
