"""What may put right a call of pip: the last pip for its Python, no newer one, a build that is not apart from torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.repair_lines import Changes, end_of, other_line, start_of
from envkit.tables.build_stops import CompiledPackage
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_CALL = regex(
    r"(?P<values>(?:(?<![\w-])[A-Z]\w{0,60}=[^\s&|;]{1,120}\s+){0,4})"
    r"(?P<caller>(?:\bsudo\s+(?:-H\s+)?)?(?:\bpython[\d.]*\s+-m\s+pip|(?:\buv\s+)?(?<![\w./-])pip[\d.]*))"
    r"(?P<options>(?:\s+--?[a-z][\w-]*(?:=\S+)?){0,8})\s+install\b(?P<rest>[^&|;\\]*)"
)
_ITSELF = regex(r"(?<=\s)pip(?=\s|$)")
_UPGRADES = frozenset({"-U", "--upgrade"})
_BOUND = regex(r"pip install (?:--upgrade )?'(pip<[\d.]{1,6})'")
_LISTED = frozenset({"-r", "--requirement", "-c", "--constraint"})
_VALUED = frozenset(
    {"-f", "--find-links", "-i", "--index-url", "--extra-index-url", "-t", "--target", "--prefix", "-C"}
    | {"--cache-dir", "--timeout", "--retries", "--trusted-host", "--config-settings", "--global-option"}
)
_ADDRESS = regex(r"://|^[\"']?[./]")
_STOPS = frozenset({"&&", "||", "|", ";", "&"})
_WORD = regex(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_TOOLS = regex(r"first: pip install ([\w -]{1,200})$")
_BUILDS = regex(r"^(?:pip|uv) builds ([\w.-]{1,60})[ ,]")


def pip_bounded(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The last release of pip for the Python in the command that upgrades pip, what else that takes after it."""
    bound = _BOUND.search(finding.remedy.advice if finding.remedy is not None else "")
    if bound is None:
        return
    for at in range(line_of(finding) - 1, -1, -1):
        for call in _CALL.finditer(lines[at]):
            words = call["rest"].split()
            if _UPGRADES.isdisjoint(words) or _ITSELF.search(call["rest"]) is None:
                continue
            others = [word for word in words if word != "pip"]
            start = f"{call['values']}{call['caller']}{call['options']} install"
            changed = f"{start} --upgrade '{bound[1]}'"
            if any(not word.startswith("-") for word in others):  # which the new pip chooses for this Python
                changed += f" && {start} {' '.join(others)}"
            tail = " " if call["rest"].endswith(" ") else ""
            line = f"{lines[at][: call.start()]}{changed}{tail}{lines[at][call.end() :]}"
            yield other_line(lines, at, line), f"bounded {bound[1]} in line {at + 1}"
            return


def pip_renewed(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """The last release of pip for the Python, before the command whose package the pip there cannot install."""
    bound = _BOUND.search(finding.remedy.advice if finding.remedy is not None else "")
    if bound is None:
        return
    index = line_of(finding) - 1
    for at in range(index, start_of(lines, index) - 1, -1):
        call = _CALL.search(lines[at])
        if call is not None:
            renewed = f"{call['values']}{call['caller']}{call['options']} install --upgrade '{bound[1]}' && "
            line = f"{lines[at][: call.start()]}{renewed}{lines[at][call.start() :]}"
            yield other_line(lines, at, line), f"upgraded pip to the last one of this Python, {bound[1]}"
            return


def tools_added(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """What the setup of a package imports, before the command that builds it."""
    tools = _TOOLS.search(finding.remedy.advice if finding.remedy is not None else "")
    index = line_of(finding) - 1
    for at in range(index, start_of(lines, index) - 1, -1):
        call = _CALL.search(lines[at])
        if tools is not None and call is not None:
            before = f"{call['caller']}{call['options']} install {tools[1]} && "
            line = f"{lines[at][: call.start()]}{before}{lines[at][call.start() :]}"
            yield other_line(lines, at, line), "added what the build needs"
            return


def not_isolated(lines: Sequence[str], finding: Finding, matrix: Matrix) -> Changes:
    """--no-build-isolation, after what a package builds with, which pip then does not fetch.

    Beside projects by their addresses it gets a command of its own: what those build with is not known, while nearly
    all of the index has wheels. A list stays as it is.
    """
    package = _BUILDS.search(finding.title)
    index = line_of(finding) - 1
    tools = next((row.tools for row in read(CompiledPackage) if package and row.package == normalized(package[1])), ())
    for at in range(index, start_of(lines, index) - 1, -1):
        call = _CALL.search(lines[at])
        if call is None:
            continue
        words = list(_words_of(lines, at, call.start("rest")))
        if package is None or any(one.text in _LISTED for one in words):
            return
        start = f"{call['caller']}{call['options']} install"
        before = f"{start} {' '.join(tools)} && " if tools else ""
        told = "added --no-build-isolation" + (" and what the build needs" if tools else "")
        wanted = [one for one in words if one.package]
        own = [one for one in wanted if _names(one.text, package[1])]
        line = lines[at]
        if len(wanted) == 1 or not any(_ADDRESS.search(one.text) for one in wanted if one not in own):
            start = f"{call['values']}{start} --no-build-isolation"
            yield other_line(lines, at, f"{line[: call.start()]}{before}{start}{line[call.start('rest') :]}"), told
        elif len(own) == 1 and any(normalized(_bare(one.text)) == "torch" for one in wanted):
            return
        elif len(own) == 1:
            apart = f"{before}{call['values']}{start} --no-build-isolation {own[0].text} && "
            changed = list(lines)
            changed[own[0].line] = _without(lines[own[0].line], own[0])
            changed[at] = f"{changed[at][: call.start()]}{apart}{changed[at][call.start() :]}"
            if not changed[own[0].line].strip(" \t\\"):
                del changed[own[0].line]
            yield changed, f"{told}, for {package[1]} alone"
        return


@record
class _Word:
    """A word of a call of pip: where it stands, and whether it is a package."""

    text: str
    line: int
    column: int
    package: bool


def _words_of(lines: Sequence[str], at: int, column: int) -> Iterator[_Word]:
    """The words of a call, to the end of its command."""
    value = False
    for line in range(at, end_of(lines, at) + 1):
        text = lines[line]
        if text.lstrip().startswith("#"):
            continue
        for found in _WORD.finditer(text, column if line == at else 0):
            word = found[0]
            if word in _STOPS or word.endswith(";"):
                return
            if word != "\\":
                is_option = word.startswith("-")
                yield _Word(word, line, found.start(), not (is_option or value))
                value = word in _VALUED


def _names(word: str, package: str) -> bool:
    return normalized(_bare(word)) == normalized(package) or f"/{package}".lower() in word.lower()


def _bare(word: str) -> str:
    """The name of a requirement."""
    return re.split(r"[\[<>=!~;@ ]", word.strip("'\""))[0]


def _without(line: str, word: _Word) -> str:
    rest = line[word.column + len(word.text) :]
    return line[: word.column] + (rest[1:] if rest.startswith(" ") else rest)
