"""The wheels that a project builds of a package outside the index, each for one PyTorch, CUDA and Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import requirements_of, rows_allowed
from envkit.tables.loader import read
from envkit.tables.pairs import PrebuiltWheels

_LIST_TORCH, _LIST_CUDA = regex(r"\btorch-?(\d{1,2}\.\d{1,2})(?!\d)"), regex(r"\bcu(\d{2,3})\b")
_PYTHON, _SHORT_PYTHON, _FILE = "{python}", "{cp}", ".whl"


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[tuple[PrebuiltWheels, VersionSpec], ...]]:
    found: dict[str, list[tuple[PrebuiltWheels, VersionSpec]]] = {}
    for row in read(PrebuiltWheels):
        (release,) = requirements_of((f"{row.package}=={row.version}",))
        found.setdefault(row.package, []).append((row, release.spec))
    return {name: tuple(rows) for name, rows in found.items()}


def prebuilt_of(package: str, spec: str) -> tuple[PrebuiltWheels, ...]:
    """The wheels on record of the releases that a requirement allows.

    `package` is the name as indexes compare it, `spec` what follows it: `==2.8.3`.
    """
    return tuple(row for row, _ in rows_allowed(package, spec, _rows().get(package, ())))


def prebuilt_for(
    rows: Iterable[PrebuiltWheels], torch: Version, cuda: Version, place: str, python: Version | None
) -> PrebuiltWheels | None:
    """The last of them that is made for a PyTorch, its CUDA, a system with its processor (`linux`), and a Python."""
    fitting = [
        row
        for row in rows
        if torch.starts_with(row.torch)
        and cuda.starts_with(row.cuda)
        and place in row.places
        and (python is None or not row.pythons or any(python.starts_with(one) for one in row.pythons))
    ]
    return fitting[-1] if fitting else None


def prebuilt_sources(package: str, spec: str) -> tuple[str, ...]:
    """Where what is known of them comes from."""
    return tuple(dict.fromkeys(key for row in prebuilt_of(package, spec) for key in row.sources))


@lru_cache(maxsize=1)
def _pages() -> dict[str, tuple[PrebuiltWheels, ...]]:
    """The rows by the address of the page that lists their files."""
    found: dict[str, list[PrebuiltWheels]] = {}
    for row in read(PrebuiltWheels):
        for word in row.install.split():
            if word.startswith("https://") and not word.endswith(_FILE):
                found.setdefault(_plain(word), []).append(row)
    return {page: tuple(rows) for page, rows in found.items()}


def _plain(address: str) -> str:
    return address.replace("%2B", "+").rstrip("/")


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    """The packages of which a host has lists of wheels, each for one PyTorch and CUDA by its address."""
    found: dict[str, set[str]] = {}
    for page, rows in _pages().items():
        if _LIST_TORCH.search(page):
            found.setdefault(page.split("/")[2], set()).update(row.package for row in rows)
    return {host: frozenset(names) for host, names in found.items()}


def list_made_for(address: str, package: str) -> tuple[Version, Version] | None:
    """The PyTorch line and the CUDA that a list of a package's wheels names in its address; None for another place."""
    plain = _plain(address)
    parts = plain.split("/")
    if "://" not in plain or package not in _lists().get(parts[2], ()):
        return None
    torch, cuda = _LIST_TORCH.search(plain), _LIST_CUDA.search(plain)
    if torch is None or cuda is None:
        return None
    return Version.parse(torch[1]), Version.parse(f"{cuda[1][:-1]}.{cuda[1][-1]}")


def holds_no_framework(address: str) -> bool:
    """Whether a place is one of a project that builds a package next to a framework: it has that package alone."""
    hosts = {page.split("/")[2] for page in _pages()}
    return "://" in address and address.split("/")[2] in hosts


def wheels_at(address: str, package: str) -> tuple[PrebuiltWheels, ...]:
    """The wheels of a package on record at a page; none where the page is not one of those."""
    return tuple(row for row in _pages().get(_plain(address), ()) if row.package == package)


def install_words(row: PrebuiltWheels, python: Version | None) -> str:
    """What follows `python -m pip install`; with the Python still to be filled in where none is known."""
    if python is None:
        return row.install
    short = f"{python.release(2)}".replace(".", "")
    return row.install.replace(_SHORT_PYTHON, f"cp{short}").replace(_PYTHON, short)


def releases_of_torch(rows: Iterable[PrebuiltWheels]) -> str:
    """The PyTorch releases that wheels are made for, in words: 2.4, 2.5."""
    return ", ".join(str(one) for one in sorted({row.torch for row in rows}))
