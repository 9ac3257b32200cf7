"""A package index as pip sees it: the files of a package, asked for once per package and run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from functools import cache
from html.parser import HTMLParser
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urljoin
from urllib.request import Request, urlopen

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

_PIPS_OWN = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_TIMEOUT_S = 60
_METADATA = ".dist-info/METADATA"
_MACHINES = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64")}


class IndexUnreachable(Exception):
    """The index did not answer, so nothing can be said about its packages."""


@dataclass(frozen=True)
class IndexFile:
    """One file of a release: `tags` are (python, abi, platform) of a wheel, empty for a source archive."""

    name: str
    url: str
    version: Version
    tags: frozenset[tuple[str, str, str]]
    requires_python: SpecifierSet
    yanked: bool
    uploaded: str  # date, '' where the index does not say

    @property
    def is_wheel(self) -> bool:
        """True for a wheel, False for a source archive."""
        return bool(self.tags)

    def serves(self, python: str) -> bool:
        """True when pip would take this file for CPython `python` (3.10) on some platform."""
        if not self.requires_python.contains(python + ".99", prereleases=True):
            return False
        return not self.is_wheel or any(_tag_serves(tag, abi, python) for tag, abi, _ in self.tags)

    def pythons(self) -> set[str]:
        """The exact CPython releases that its tags name, such as 3.10 of cp310; empty for py3, abi3 and archives."""
        exact = (re.fullmatch(r"cp(\d)(\d+)", tag) for tag, abi, _ in self.tags if abi != "abi3")
        return {f"{match[1]}.{match[2]}" for match in exact if match}

    def runs_on(self, platform: str, architecture: str) -> bool:
        """True when the file is for `platform` (linux, windows) and `architecture`; source archives are for all."""
        if not self.is_wheel:
            return True
        return any(_platform_matches(tag, platform, architecture) for _, _, tag in self.tags)

    def glibc(self) -> str | None:
        """The glibc that a Linux wheel's tag promises to run on, such as 2.28; None without such a tag."""
        floors = [found for _, _, tag in self.tags if (found := _glibc_of(tag))]
        return min(floors, key=Version) if floors else None


def _tag_serves(tag: str, abi: str, python: str) -> bool:
    major, minor = python.split(".")
    if tag in (f"py{major}", f"cp{major}{minor}", f"py{major}{minor}", f"cp{major}"):
        return not abi.endswith("t") or abi == "abi3t"
    match = re.fullmatch(r"cp(\d)(\d+)", tag)
    return bool(match and abi == "abi3" and match[1] == major and int(match[2]) <= int(minor))


def _platform_matches(tag: str, platform: str, architecture: str) -> bool:
    if tag == "any":
        return True
    if platform == "windows" and not tag.startswith("win"):
        return False
    if platform == "linux" and "linux" not in tag:
        return False
    return tag.endswith(_MACHINES[architecture])


def _glibc_of(tag: str) -> str | None:
    legacy = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
    for name, glibc in legacy.items():
        if tag.startswith(name + "_"):
            return glibc
    match = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    return f"{match[1]}.{match[2]}" if match else None


def fetch(url: str) -> tuple[str, bytes]:
    """Content type and body of `url`. Raises IndexUnreachable when there is no answer."""
    try:
        with urlopen(Request(url, headers={"Accept": _ACCEPT}), timeout=_TIMEOUT_S) as response:
            return response.headers.get_content_type(), response.read()
    except HTTPError as error:
        if error.code == 404:
            return "", b""
        raise IndexUnreachable(f"{url}: {error}") from error
    except (URLError, TimeoutError, ConnectionError) as error:
        raise IndexUnreachable(f"{url}: {error}") from error


@cache
def pip_index_url() -> str:
    """The index that pip is configured to use here, or the one that pip uses when nothing is configured."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    found: dict[str, str] = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        found[name] = value.strip("'\"")
    for name in (":env:.index-url", "install.index-url", "global.index-url"):
        if name in found:
            return found[name]
    asked = subprocess.run([sys.executable, "-c", _PIPS_OWN], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


class Index:
    """The files of each package, asked for once; `requests` counts what was asked of the network."""

    def __init__(
        self,
        url: str,
        fetch: Callable[[str], tuple[str, bytes]] = fetch,
        inside: Callable[[str, str], bytes] | None = None,
    ) -> None:
        """`inside` reads a file out of a wheel, by the wheel's address and the end of the file's name."""
        self._url = url.rstrip("/")
        self._fetch = fetch
        self._inside = inside
        self._files: dict[str, tuple[IndexFile, ...]] = {}
        self.requests = 0

    def files(self, package: str) -> tuple[IndexFile, ...]:
        """Every file of `package`, () when the index does not have it. Raises IndexUnreachable."""
        name = canonicalize_name(package)
        if name not in self._files:
            self.requests += 1
            page = f"{self._url}/{name}/"
            self._files[name] = tuple(_parsed(*self._fetch(page), page))
        return self._files[name]

    def release(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """The files of one release; () when it is not there."""
        wanted = Version(version)
        return tuple(file for file in self.files(package) if file.version == wanted)

    def metadata(self, file: IndexFile) -> Message | None:
        """The METADATA of a wheel: what the index serves next to it, else what `inside` reads; None without either."""
        self.requests += 1
        _, body = self._fetch(file.url + ".metadata")
        if not body and file.is_wheel and self._inside is not None:
            body = self._inside(file.url, _METADATA)
        return Parser().parsestr(body.decode("utf-8", "replace")) if body else None


def _parsed(content_type: str, body: bytes, page: str) -> Iterable[IndexFile]:
    if not body:
        return
    entries = _json_entries(body) if content_type.endswith("json") else _html_entries(body)
    for name, url, attributes in entries:
        found = _named(name)
        if found:
            version, tags = found
            yield IndexFile(
                name,
                urljoin(page, url),
                version,
                tags,
                _specifier(attributes.get("requires-python") or ""),
                attributes.get("yanked") is not None,
                (attributes.get("upload-time") or "")[:10],
            )


def _named(name: str) -> tuple[Version, frozenset[tuple[str, str, str]]] | None:
    try:
        if name.endswith(".whl"):
            _, version, _, tags = parse_wheel_filename(name)
            return version, frozenset((tag.interpreter, tag.abi, tag.platform) for tag in tags)
        _, version = parse_sdist_filename(name)
        return version, frozenset()
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _specifier(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return SpecifierSet()


def _json_entries(body: bytes) -> Iterable[tuple[str, str, dict[str, str | None]]]:
    for entry in json.loads(body)["files"]:
        attributes: dict[str, str | None] = {
            "requires-python": entry.get("requires-python"),
            "upload-time": entry.get("upload-time"),
        }
        if entry.get("yanked"):
            attributes["yanked"] = ""
        yield entry["filename"], entry["url"], attributes


def _html_entries(body: bytes) -> Iterable[tuple[str, str, dict[str, str | None]]]:
    page = _Links()
    page.feed(body.decode("utf-8", "replace"))
    return page.entries


class _Links(HTMLParser):
    """Collects the anchors of a simple index page with their data- attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            return
        found = dict(attrs)
        url = (found.get("href") or "").partition("#")[0]
        data = {key.removeprefix("data-"): value or "" for key, value in attrs if key.startswith("data-")}
        self.entries.append((unquote(url.rsplit("/", 1)[-1]), url, dict(data)))
