"""requirements.txt as pip reads it, with what it includes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.records import record, replace
from envkit.base.errors import SourceError
from envkit.base.names import normalized
from envkit.compat.prebuilt_wheels import holds_no_framework
from envkit.dockerfile.packages import Places
from envkit.dockerfile.requirement_lists import list_lines
from envkit.project.model import Beside, Item, Manifest, Unread
from envkit.project.places import NOWHERE, is_requirement, item, sorted_out

_FILES = 50  # that one may include, those that they include counted in
_INDEX, _MORE = ("-i", "--index-url"), ("--extra-index-url", "-f", "--find-links")
_INCLUDED, _BOUNDED, _EDITABLE = ("-r", "--requirement"), ("-c", "--constraint"), ("-e", "--editable")


@record
class _Option:
    name: str
    value: str
    line: int
    file: str


@record
class _Line:
    text: str
    line: int
    file: str


def read(text: str, beside: Beside, kind: str = "requirements") -> Manifest:
    """The packages of the file and of those that it includes, with the bounds of its constraints files."""
    lines: list[_Line] = []
    options: list[_Option] = []
    unread: list[Unread] = []
    _collect(text, "", beside, lines, options, unread, {""})
    places, index_line = _places(options)
    found = [*unread, *(_named(line, places, index_line) for line in lines)]
    items, rest = sorted_out(found)
    missing: list[Unread] = []
    bounds = _bounds(options, beside, missing)
    return Manifest(kind, tuple(_bounded(one, bounds) for one in items), (*rest, *missing))


def _named(line: _Line, places: Places, index_line: int) -> Item | Unread:
    """What a line names; pip stops at one that is not a requirement, no file, and holds no variable."""
    one = item(line.text, line.line, places, file=line.file, index_line=index_line)
    plain = one is None or (isinstance(one, Item) and one.package.wheel is None)
    refused = plain and "$" not in line.text and not is_requirement(line.text)
    return one if one is not None and not refused else Unread(line.line, line.text, line.file, refused=refused)


def _collect(
    text: str,
    name: str,
    beside: Beside,
    lines: list[_Line],
    options: list[_Option],
    unread: list[Unread],
    seen: set[str],
) -> None:
    """Takes a file apart, and those that it includes; each is read once."""
    waiting = [(text, name)]
    while waiting:
        text, name = waiting.pop(0)
        for one in _parts(text, name):
            if isinstance(one, _Line):
                lines.append(one)
            elif one.name not in _INCLUDED:
                options.append(one)
            else:
                inner = posixpath.normpath(posixpath.join(posixpath.dirname(name), one.value))
                if inner in seen:
                    continue
                seen.add(inner)
                if len(seen) > _FILES:
                    raise SourceError(f"line {one.line}: more than {_FILES} files are included.", "Pass one of them.")
                included = beside(inner) if "://" not in one.value else None
                if included is None:
                    unread.append(Unread(one.line, f"-r {one.value}", one.file))
                else:
                    waiting.append((included, inner))


def _parts(text: str, name: str) -> Iterator[_Line | _Option]:
    for one in list_lines(text):
        if not one.option:
            yield _Line(one.value, one.number, name)
        elif one.option not in _EDITABLE:
            yield _Option(one.option, one.value, one.number, name)
        else:
            there = "@" in one.value or one.value.startswith(".")
            yield _Line(one.value if there else f"./{one.value}", one.number, name)


def _places(options: list[_Option]) -> tuple[Places, int]:
    index = [one for one in options if one.name in _INDEX]
    more = [one for one in options if one.name in _MORE]
    url, others = (index[-1].value if index else ""), " ".join(one.value for one in more)
    nightly = any(one.name == "--pre" for one in options) or "/nightly" in f"{url} {others}"
    lines = [one.line for one in (*index[-1:], *more) if not (one.file or holds_no_framework(one.value))]
    return replace(NOWHERE, index=url, more=others, nightly=nightly), (lines[0] if len(lines) == 1 else 0)


def _bounds(options: list[_Option], beside: Beside, unread: list[Unread]) -> dict[str, str]:
    """What constraints files say of packages; each is read once."""
    bounds: dict[str, str] = {}
    seen: set[str] = set()
    for option in options:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(option.file), option.value))
        if option.name not in _BOUNDED or place in seen:
            continue
        seen.add(place)
        if len(seen) > _FILES:
            raise SourceError(f"line {option.line}: more than {_FILES} files are included.", "Pass one of them.")
        text = beside(place)
        if text is None:
            unread.append(Unread(option.line, f"-c {option.value}", option.file))
        for one in _parts(text or "", option.value):
            found = item(one.text, one.line, NOWHERE) if isinstance(one, _Line) else None
            if isinstance(found, Item) and found.package.spec:
                bounds[normalized(found.package.name)] = found.package.spec
    return bounds


def _bounded(one: Item, bounds: dict[str, str]) -> Item:
    bound = bounds.get(normalized(one.package.name))
    if not bound:
        return one
    spec = ",".join(filter(None, (one.package.spec, bound)))
    return replace(one, package=replace(one.package, spec=spec))
