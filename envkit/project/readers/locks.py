"""uv.lock, poetry.lock, pdm.lock, pylock.toml and Pipfile.lock: every package with its one version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.project.model import Item, Manifest, Unread
from envkit.project.places import at_index, is_pytorch, item, mapping, sorted_out
from envkit.project.readers.pyproject import Found, caret

# Lines of files with their sums, most of a lock: what is read here is elsewhere.
_FILE_LINE = regex(r"(?m)^[ \t]+\{ ?(?:url|file) = \"[^\n]*\},?$\n?")
_NAME_LINE = regex(r"(?m)^name = \"([^\"\n]+)\"")


def without_files(text: str) -> str:
    """A lock without the lists of files, with as many lines as before."""
    return _FILE_LINE.sub("\n", text)


def read_uv(document: Mapping[str, Any], text: str) -> Manifest:
    """The packages of uv.lock, each with the markers of its fork."""
    return _manifest("uv.lock", _uv(document, text), str(document.get("requires-python", "")))


def _uv(document: Mapping[str, Any], text: str) -> Iterator[Item | Unread | None]:
    for one, line in _packages(document, "package", text):
        registry = mapping(one.get("source")).get("registry")
        markers = [str(marker) for marker in one.get("resolution-markers", []) if isinstance(marker, str)]
        yield _pinned(one, line, str(registry or ""), " or ".join(f"({marker})" for marker in markers))


def read_poetry(document: Mapping[str, Any], text: str) -> Manifest:
    """The packages of poetry.lock that everybody gets."""
    python = str(mapping(document.get("metadata")).get("python-versions", ""))
    return _manifest("poetry.lock", _poetry(document, text), caret(python))


def _poetry(document: Mapping[str, Any], text: str) -> Iterator[Item | Unread | None]:
    for one, line in _packages(document, "package", text):
        if _left_out(one, "main"):
            continue
        source = mapping(one.get("source"))
        url = str(source.get("url", "")) if source.get("type") == "legacy" else ""
        markers = one.get("markers")
        marker = str(markers.get("main", "")) if isinstance(markers, dict) else str(markers or "")
        yield _pinned(one, line, url, marker)


def read_pdm(document: Mapping[str, Any], text: str) -> Manifest:
    """The packages of pdm.lock that everybody gets."""
    targets = _tables(mapping(document.get("metadata")), "targets")
    python = next((str(one["requires_python"]) for one in targets if "requires_python" in one), "")
    return _manifest("pdm.lock", _pdm(document, text), python)


def _pdm(document: Mapping[str, Any], text: str) -> Iterator[Item | Unread | None]:
    for one, line in _packages(document, "package", text):
        if _left_out(one, "default"):
            continue
        yield _pinned(one, line, "", str(one.get("marker", "") or ""))


def read_pylock(document: Mapping[str, Any], text: str) -> Manifest:
    """The packages of a pylock.toml (PEP 751)."""
    return _manifest("pylock.toml", _pylock(document, text), str(document.get("requires-python", "")))


def _pylock(document: Mapping[str, Any], text: str) -> Iterator[Item | Unread | None]:
    for one, line in _packages(document, "packages", text):
        yield _pinned(one, line, str(one.get("index", "") or ""), str(one.get("marker", "") or ""))


def read_pipfile_lock(document: Mapping[str, Any], text: str) -> Manifest:
    """The packages of a Pipfile.lock, those for development left out."""
    head = mapping(document.get("_meta"))
    sources = {str(one.get("name")): str(one.get("url", "")) for one in _tables(head, "sources")}
    version = str(mapping(head.get("requires")).get("python_version", ""))
    lines = {name: number for number, name in _json_keys(text)}
    found: Found = []
    for name, one in mapping(document.get("default")).items():
        if not isinstance(one, dict):
            continue
        place = sources.get(str(one.get("index", "")), "")
        pinned = {"name": name, "version": str(one.get("version", "")).lstrip("="), "extras": one.get("extras")}
        found.append(_pinned(pinned, lines.get(str(name), 0), place, str(one.get("markers", "") or "")))
    return _manifest("Pipfile.lock", iter(found), f"=={version}.*" if version else "")


_JSON_KEY = regex(r"\s{0,40}\"([^\"\n]+)\": \{$")


def _json_keys(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        match = _JSON_KEY.match(line.rstrip()) if line.rstrip().endswith("{") else _JSON_ONE.match(line)
        if match is not None:
            yield number, match[1]


_JSON_ONE = regex(r"\s{0,40}\"([^\"\n]+)\": \{")


class _NameLines:
    """The lines of `name = "…"`, which come in the order of the packages."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, list[int]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            match = _NAME_LINE.match(line)
            if match is not None:
                self._found.setdefault(match[1], []).append(number)

    def next(self, name: str) -> int:
        """The line of the next package of that name; 0 for none."""
        waiting = self._found.get(name)
        return 0 if not waiting else waiting.pop(0) if len(waiting) > 1 else waiting[0]


def _pinned(one: Mapping[str, Any], line: int, url: str, marker: str) -> Item | Unread | None:
    version = str(one.get("version", "") or "")
    if not version:
        return None
    extras = one.get("extras")
    words = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
    text = f"{one.get('name', '')}{words}=={version}" + (f"; {marker}" if marker else "")
    if "+" in version and not is_pytorch(url):  # the lock says where each file is, and the suffix which build
        return item(text, line, replace(at_index(""), more="lock"))
    return item(text, line, at_index(url if is_pytorch(url) else ""))


def _packages(document: Mapping[str, Any], key: str, text: str) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Each package and its line, 0 for none."""
    lines = _NameLines(text)
    for one in _tables(document, key):
        yield one, lines.next(str(one.get("name", "")))


def _left_out(package: Mapping[str, Any], group: str) -> bool:
    groups = package.get("groups")
    return isinstance(groups, list) and group not in groups


def _tables(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = document.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _manifest(kind: str, found: Iterator[Item | Unread | None], python: str) -> Manifest:
    items, unread = sorted_out(list(found))
    return Manifest(kind, items, unread, python, locked=True)
