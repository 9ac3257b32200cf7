"""Where a build stops at a tool itself: an option that it does not have, a folder into which it is not installed."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step, is_pip
from envkit.dockerfile.newest_pip import reaches, with_newest_pip
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stops_written import before_instruction
from envkit.tables.build_tools import GoneOption, MovedProgram
from envkit.tables.codes import limit
from envkit.tables.loader import read

_EXPORT_PLUGIN = "poetry-plugin-export"
_PYTHON = regex(r"(?:.*/)?python[\d.]*")
# Options whose value is the next word.
_WITH_VALUE = frozenset(
    {"-r", "-c", "-e", "-f", "-i", "-t", "-C", "--config-settings", "--find-links", "--index-url", "--extra-index-url"}
)


def option_gone(ground: Ground) -> Iterator[Finding]:
    """The first option of pip, uv, Poetry, or conda that a verb of theirs does not have."""
    rows = {(row.tool, row.option): row for row in read(GoneOption)}
    poetry = False
    told: set[tuple[str, str]] = set()
    for step, newest in with_newest_pip(ground):
        tool, verb, given = _called(called(step.command))
        if tool == "poetry":
            newest = poetry
        poetry = _brings_poetry(step, ground, poetry=poetry)
        given = before_instruction(given)
        before = ("", *given)
        for word, last in zip(given, before, strict=False):
            row = rows.get((tool, word.partition("=")[0])) if last not in _WITH_VALUE else None
            if row is None or not step.command.decisive or not _lacks(row, verb, step, newest, ground):
                continue
            if (tool, verb) in told:
                return
            told.add((tool, verb))
            since = f" since {row.since}" if row.since is not None else ""
            yield stop(
                faults.TOOL_OPTION,
                f"{tool} {verb} has no option {row.option}{since}",
                subject_of(word.line, word),
                impact=f"The build stops with: no such option: {row.option}.",
                fix=row.instead,
                sources=row.sources,
            )
            break


def export_gone(ground: Ground) -> Iterator[Finding]:
    """The first `poetry export` of a Poetry 2 to which nobody added its plugin."""
    texts = " ".join((*ground.written, *ground.environment))
    if _EXPORT_PLUGIN in texts or "POETRY_VERSION" in texts or "poetry self" in texts or "pipx" in texts:
        return
    poetry = False
    fetched = False
    for step in ground.steps:
        words = called(step.command)
        if words[:2] == ("poetry", "export") and poetry and step.command.decisive:
            yield stop(
                faults.TOOL_OPTION,
                "Poetry 2 has no command export: it is in the plugin poetry-plugin-export",
                command_subject(step.command),
                impact="The build stops with: The requested command export does not exist.",
                fix="Install poetry-plugin-export with Poetry.",
            )
            return
        poetry = _brings_poetry(step, ground, poetry=poetry)
        if fetched and words and _PYTHON.fullmatch(words[0]) and "--version" not in words:
            python = ground.pythons.of(str(words[0]), step.place)
            poetry = poetry or (python is not None and python >= limit("python-of-poetry-2"))
        fetched = any("install.python-poetry.org" in word for word in words)


def _brings_poetry(step: Step, ground: Ground, *, poetry: bool) -> bool:
    """Whether the newest Poetry, of today's major release, is certainly there after a step."""
    named = next((one for one in step.packages if normalized(one.name) == "poetry"), None)
    if named is None:
        return poetry
    python = ground.pythons.of(named.caller, step.place)
    newest = not named.spec and named.tool == "pip" and not named.held
    return newest and python is not None and python >= limit("python-of-poetry-2")


def _called(words: Sequence[Word]) -> tuple[str, str, Sequence[Word]]:
    """The tool that a command calls, its verb, and what is after that; three times nothing for other tools."""
    rest = list(words)
    if len(rest) > 2 and _PYTHON.fullmatch(rest[0]) and rest[1] == "-m":
        rest = rest[2:]
    tool = "pip" if rest and is_pip(rest[0]) else ""
    if rest[:2] == ["uv", "pip"]:
        tool, rest = "uv", rest[1:]
    if rest[:1] in (["poetry"], ["pipenv"], ["conda"]):
        tool = rest[0]
    at = next((at for at, word in enumerate(rest) if at and not word.startswith("-")), None) if tool else None
    return (tool, rest[at], rest[at + 1 :]) if at is not None else ("", "", ())


def _lacks(row: GoneOption, verb: str, step: Step, newest: bool, ground: Ground) -> bool:
    """Whether the release of the tool that a step calls certainly does not have the option."""
    if verb not in row.verbs:
        return False
    if row.tool == "poetry":
        return newest
    words = called(step.command)
    caller = " ".join(words[: words.index(Word(verb))])
    return row.since is None or (newest and reaches(ground.pythons.of(caller, step.place), row.since))


def program_moved(ground: Ground) -> Iterator[Finding]:
    """The first call of a program by the folder into which its installer no longer puts it."""
    for row in read(MovedProgram):
        if any(name in text for name in row.variables for text in (*ground.environment, *ground.texts)):
            continue
        installed = any(row.address in word for word in ground.addresses)
        found = next((one for step in ground.steps for one in _calls(step, row, ground)), None) if installed else None
        if found is not None:
            yield stop(
                faults.PROGRAM_MOVED,
                f"since {_month(row.since)}, the installer has put {row.program} into ~/{row.new}, not ~/{row.old}",
                subject_of(found.line, found),
                impact=f"The build stops: {row.program} is not found.",
                fix=f"Replace ~/{row.old} with ~/{row.new}, or pin the release that the installer fetches.",
                sources=row.sources,
            )


def _month(word: str) -> str:
    """`October 2021` of `2021-10`."""
    year, _, month = word.partition("-")
    return f"{month_name[int(month)]} {year}"


def _calls(step: Step, row: MovedProgram, ground: Ground) -> Iterator[Word]:
    """The words of a step that look for the program in its former folder, alone or because PATH leads there only."""
    words = called(step.command)
    if not step.command.decisive:
        return
    yield from (word for word in words if word.endswith(f"{row.old}/{row.program}"))
    path = ground.environment.get("PATH", "")
    if words[:1] == (row.program,) and row.old in path and row.new not in path and "PATH" not in " ".join(ground.texts):
        yield words[0]
