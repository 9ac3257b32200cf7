"""`pip list`, `pip freeze`, `pip show`, `uv pip list`, and what pip says is there already.

Package                  Version
------------------------ ------------
torch                    2.3.1+cu121
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Package, PythonFact, reader
from envkit.ingest.text import Text

_TABLE_HEAD = regex(
    r"^Package {1,80}Version(?: {1,80}(?:Editable project location|Location|Installer)[^\n]*)?$", re.MULTILINE
)
_TYPED = regex(
    r"^[^\n]{0,60}?\b(?:pip3?|uv pip) list\b[^\n|]{0,40}\| ?(?:e?grep|findstr|head|sort|Select-String)\b[^\n]{0,200}$",
    re.MULTILINE,
)
_ROW = regex(
    r"^(?P<name>[A-Za-z0-9](?:[\w.-]{0,80}[A-Za-z0-9])?) {1,80}(?P<version>\d[\w.+!-]{0,60})(?: {1,80}"
    r"(?P<location>/\S{1,200}))?(?: {1,20}(?P<installer>pip|conda|uv|poetry))?$"
)
_RULE = regex(r"^-{3,90}(?: -{3,90}){1,3}$")
_FROZEN = regex(
    r"^(?P<name>[A-Za-z0-9](?:[\w.-]{0,80}[A-Za-z0-9])?)==(?P<version>\d[\w.+!-]{0,60})"
    r"(?: ?;(?![^\n]{0,80}== ?[\"'][Dd]arwin)[^\n]{0,200})?$",
    re.MULTILINE,
)
_CHANGED = regex(
    r"^ {0,2}[+~] (?P<name>[A-Za-z0-9](?:[\w.-]{0,80}[A-Za-z0-9])?)==(?P<version>\d[\w.+!-]{0,60})$", re.MULTILINE
)  # what uv says that it installed
_INSTALLED = regex(r"^[ \t]{0,8}Successfully installed (?P<all>\S[^\n]{0,8000})$", re.MULTILINE)
_FILE = regex(r"(?P<name>[A-Za-z0-9][\w.-]{0,80})-(?P<version>\d[\w.+!]{0,60})")
_SHOWN = regex(
    r"^Name: (?P<name>[\w.-]{1,80})\nVersion: (?P<version>\d[\w.+!-]{0,60})$(?:\n"
    r"(?!Name:)[A-Z][\w -]{1,30}:[^\n]*){0,8}?(?:\nLocation: (?P<location>\S[^\n]{0,200}))?",
    re.MULTILINE,
)
_SATISFIED = regex(
    r"^Requirement already satisfied: (?P<name>[A-Za-z0-9][\w.-]{0,80})(?:\[[\w,]{1,60}\])?[^\n]{0,160}? in "
    r"(?P<location>/[^\s]{1,200}|[A-Za-z]:\\[^\n(]{1,200}?) (?:\(from [^\n]{1,200}?\) )?\("
    r"(?P<version>\d[\w.+!-]{0,60})\)$",
    re.MULTILINE,
)
_FOLDER = regex(r"(?<![^\s;&|])(?P<folder>[^\s;&|]{1,160})/bin/(?:python[\d.]{0,5} -m )?pip3? list\b")
_RAN = regex(r"(?<![^\s;&|])(?P<folder>[^\s;&|]{1,160})/bin/python[\d.]{0,5} (?!-m pip\b|--?[vV])\S")
_PIP = regex(
    r"^pip \d[\d.]{0,20} from (?P<path>\S[^\n]{1,200}?) \(python (?P<version>\d{1,9}\.\d{1,9})\)$", re.MULTILINE
)


_ASKED = regex(r"^(?:[^\n]{0,60}[$#>%] ?)?(?:[\w./-]{1,60} -m )?(?:pip3?|uv pip) list ?$", re.MULTILINE)


@reader("pip")
def read(text: Text) -> Iterator[Clue]:
    """Every distribution with its version; which Python `pip` belongs to."""
    seen: set[tuple[str, str]] = set()
    for package in _packages(text):
        if (package.name, package.version) not in seen:  # a listing that was pasted twice
            seen.add((package.name, package.version))
            yield package
    for match in text.matches(_PIP, "pip "):
        yield PythonFact("pip_python", _interpreter(match["path"], match["version"]), match.start())
        yield PythonFact("version", Version.parse(match["version"]), match.start())


def _packages(text: Text) -> Iterator[Package]:
    for head in text.matches(_TABLE_HEAD, "Package "):
        yield from _table(text, head.start(), head.group().index("Version"))
    typed_with = (_TYPED, "pip list", "pip3 list"), (_ASKED, "pip list", "pip3 list")
    for typed in _of_what_runs(text, [match for words in typed_with for match in text.matches(*words)]):
        yield from _table(text, typed.start(), 0)
    changed = {match["name"]: match for match in text.matches(_CHANGED, "==")}  # of two installations the later one
    for match in changed.values():
        yield Package(match["name"], match["version"], match.start(), "pip")
    yield from _installed(text)
    for pattern, needle, lines in ((_FROZEN, "==", 1), (_SHOWN, "Name: ", 11), (_SATISFIED, "already satisfied", 1)):
        for match in text.matches(pattern, needle, lines=lines):
            if text.cut_off(match.start(), match["version"]):
                continue
            location = match.groupdict().get("location") or ""
            installer = "pip" if pattern is _FROZEN else ""  # the others show one package, and no list of them
            yield Package(match["name"], match["version"], match.start(), installer, path=location)


def _of_what_runs(text: Text, typed: list[re.Match[str]]) -> list[re.Match[str]]:
    """The lists of the environments whose Python runs a program, where such are listed beside others."""
    folders = [_FOLDER.search(match.group()) for match in typed]
    ran = {match["folder"] for match in text.matches(_RAN, "/bin/python")}
    chosen = [match for match, folder in zip(typed, folders, strict=True) if folder and folder["folder"] in ran]
    return chosen if chosen and all(folders) else typed


def _installed(text: Text) -> Iterator[Package]:
    """What pip says that it installed: of two installations the later one."""
    latest: dict[str, Package] = {}
    for line in text.matches(_INSTALLED, "Successfully installed"):
        for match in map(_FILE.fullmatch, line["all"].split()):
            if match is not None:
                latest[match["name"]] = Package(match["name"], match["version"], line.start(), "pip")
    yield from latest.values()


def _table(text: Text, offset: int, column: int) -> Iterator[Package]:
    """The rows below the header, or below a command that leaves the header out (column 0).

    One that is not understood is passed over where it stands in the header's columns.
    """
    position = offset + len(text.line_at(offset)) + 1
    for index in range(text.index(offset) + 1, len(text.lines)):
        line = text.lines[index]
        match = _ROW.match(line)
        if match:
            yield Package(
                match["name"], match["version"], position, match["installer"] or "pip", path=match["location"] or ""
            )
        elif not _RULE.match(line) and not _in_columns(line, column):
            return
        position += len(line) + 1


def _in_columns(line: str, column: int) -> bool:
    """Whether something begins at the start and at `column`; not so for the head of another table."""
    if not column:
        return False
    gap, there = line[column - 1 : column], line[column : column + 1].strip()
    return line[:1].isalnum() and gap == " " and bool(there) and "Version" not in line


def _interpreter(path: str, version: str) -> str:
    """`/opt/venv/lib/python3.11/site-packages/pip` belongs to `/opt/venv/bin/python3.11`."""
    prefix = re.split(r"/lib(?:64)?/python", path)[0]
    return f"{prefix}/bin/python{version}" if prefix != path else path
