"""Where a build stops at pip itself: it asks and gets no answer, or the distribution's pip does not know a word yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, is_pip
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.tables.loader import read
from envkit.tables.program_stops import PipWord, SystemPip

_PYTHON = regex(r"(?:.*/)?python[\d.]*")
_APT_PIP = regex(r"(?:/usr/bin/)?(?:pip|python)(?:3(?:\.\d{1,2})?)?")
_YES = frozenset({"-y", "--yes"})
_LIST = regex(r"(?:[\w./-]{0,200}/)?[\w.-]{0,60}requirements?[\w.-]{0,60}\.txt")
_LISTED = frozenset({"-r", "--requirement"})


def _of_pip(words: Sequence[Word]) -> Sequence[Word]:
    """The verb of a pip command and what is after it; nothing for other commands."""
    rest = list(words)
    if len(rest) > 2 and _PYTHON.fullmatch(rest[0]) and rest[1] == "-m":
        rest = rest[2:]
    return rest[1:] if rest and is_pip(rest[0]) else ()


def uninstall_asks(ground: Ground) -> Iterator[Finding]:
    """The first removal of a package that is there, without -y: pip asks, and gets no answer."""
    there: set[str] = set()
    own = ground.base.own
    if own is not None:
        there = {"torch"} if own.framework == "pytorch" else {own.framework}
    if "PIP_YES" in ground.environment:
        return
    fed = False
    for step in ground.steps:
        words = called(step.command)
        given = _of_pip(words)
        asks = given[:1] == [Word("uninstall")] and _YES.isdisjoint(given) and _LISTED.isdisjoint(given)
        named = next((word for word in given[1:] if normalized(word) in there), None) if asks else None
        if named is not None and step.command.decisive and not fed:
            yield stop(
                faults.TOOL_OPTION,
                f"pip asks before it uninstalls {named}, but gets no answer: -y is missing",
                command_subject(step.command),
                impact="The build stops with: EOFError: EOF when reading a line.",
                fix="Add -y.",
            )
            return
        fed = words[:1] in (("yes",), ("echo",), ("printf",))
        if given[:1] == [Word("uninstall")]:
            there.difference_update(normalized(word) for word in given)
        there.update(normalized(one.name) for one in step.packages if one.tool == "pip")


def pip_word_unknown(ground: Ground) -> Iterator[Finding]:
    """The first option or verb that the pip of the distribution, not replaced before, does not know yet."""
    row = next(iter(ground.of_system(SystemPip)), None)
    system = ground.base.system
    if row is None or system is None or not ground.plain or not ground.first:
        return
    if ground.tells & {"environment", "get-pip", "copied"}:
        return
    words_since = {one.word: one for one in read(PipWord)}
    there = False
    for step in ground.steps:
        words = called(step.command)
        there = there or "python3-pip" in step.of_apt
        given = _of_pip(words)
        found = next((word for word in given if _is_newer(word, given, words_since, row)), None)
        if there and found is not None and step.command.decisive and _APT_PIP.fullmatch(words[0]):
            name = found.partition("=")[0]
            known = words_since[name]
            kind = "option" if found.startswith("-") else "command"
            yield stop(
                faults.TOOL_OPTION,
                f"pip {row.pip} of {system.title} does not have the {kind} {name}, which pip {known.since} added",
                subject_of(found.line, found),
                impact=f"The build stops with: no such option: {name}."
                if kind == "option"
                else f'The build stops with: unknown command "{found}".',
                fix="Omit it, or upgrade pip first: python3 -m pip install --upgrade pip.",
                sources=(*row.sources, *known.sources),
            )
            return
        if any(normalized(one.name) == "pip" for one in step.packages) or "ensurepip" in words:
            return


def _is_newer(word: Word, given: Sequence[Word], rows: dict[str, PipWord], pip: SystemPip) -> bool:
    row = rows.get(word.partition("=")[0])
    if row is None or row.since <= pip.pip:
        return False
    return word.startswith("--") or word is given[0]


def list_unmarked(ground: Ground) -> Iterator[Finding]:
    """The first list of requirements that pip takes for a package, as nothing says that it is a list."""
    for step in ground.steps:
        given = _of_pip(called(step.command))
        if given[:1] != [Word("install")] or not step.command.decisive:
            continue
        plain = (word for word, last in zip(given[1:], given, strict=False) if not last.startswith("-"))
        word = next((one for one in plain if _LIST.fullmatch(one)), None)
        if word is not None:
            yield stop(
                faults.TOOL_OPTION,
                f"pip takes {word} for a package: -r is missing before it",
                subject_of(word.line, word),
                impact="The build stops: pip finds no package of this name.",
                fix="Put -r before it.",
                sources=("pip-install-reference",),
            )
            return
