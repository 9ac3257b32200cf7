"""The wheels that a project builds of a package outside the index, each for one PyTorch, CUDA and Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import lies_in, requirement_of, requirements_of, rows_allowed
from envkit.tables.loader import read
from envkit.tables.pairs import CompleteLists, PrebuiltWheels

_LIST_TORCH, _LIST_CUDA = regex(r"\btorch-?(\d{1,2}\.\d{1,2})(?!\d)"), regex(r"\bcu(\d{2,3})\b")
_ODD_CUDA = regex(r"\+(?:cuda_?|cu(?=\d{1,2}\.))?(\d{1,2})\.?(\d)\.html$")  # 121, cu12.1, cuda121
_FOLDER = regex(r"/py\d{2,3}_cu(\d{2,3})_pyt(\d)(\d{1,2})(\d)/")  # of one wheel's Python, CUDA, and PyTorch
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
    """An address as rows write it; the lists for graphs had another host before, which still leads there."""
    return address.replace("%2B", "+").rstrip("/").replace("/pytorch-geometric.com/whl/", "/data.pyg.org/whl/")


def misses_its_list(address: str, package: str) -> str:
    """The CUDA of a list's address as the host writes it, where the address has other words: cu121 for 121 and cu12.1.

    '' for other addresses.
    """
    plain = _plain(address)
    found = _ODD_CUDA.search(plain)
    if found is None or _LIST_TORCH.search(plain) is None or package not in _lists().get(plain.split("/")[2], ()):
        return ""
    return f"cu{found[1]}{found[2]}"


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    """The packages of which a host has lists of wheels, each for one PyTorch and CUDA by its address."""
    found: dict[str, set[str]] = {}
    for page, rows in _pages().items():
        if _LIST_TORCH.search(page) or _FOLDER.search(page):
            found.setdefault(page.split("/")[2], set()).update(row.package for row in rows)
    return {host: frozenset(names) for host, names in found.items()}


def list_made_for(address: str, package: str) -> tuple[Version, Version] | None:
    """The PyTorch and the CUDA that a list of a package's wheels names in its address; None for another place.

    PyTorch is a line of releases, or a single one where each has a list of its own.
    """
    plain = _plain(address)
    parts = plain.split("/")
    if "://" not in plain or package not in _lists().get(parts[2], ()):
        return None
    if (folder := _FOLDER.search(plain)) is not None:
        own, *release = folder.groups()
        return Version.parse(".".join(release)), Version.parse(f"{own[:-1]}.{own[-1]}")
    torch, cuda = _LIST_TORCH.search(plain), _LIST_CUDA.search(plain)
    if torch is None or cuda is None:
        return None
    return Version.parse(torch[1]), Version.parse(f"{cuda[1][:-1]}.{cuda[1][-1]}")


def on_list(package: str, spec: str, torch: Version, cuda: Version) -> bool | None:
    """Whether the list of a package for a PyTorch and a CUDA has what a requirement allows; None where that is open."""
    if any((row.torch, row.cuda) == (torch, cuda) for row in prebuilt_of(package, spec)):
        return True
    complete = next((row for row in read(CompleteLists) if row.package == package), None)
    asked = requirement_of(package + spec)
    known = complete is not None and asked is not None and lies_in(asked.spec, VersionSpec.parse(complete.versions))
    return False if known and releases_on_list(package, torch, cuda) else None


def releases_on_list(package: str, torch: Version, cuda: Version) -> tuple[str, ...]:
    """The releases of a package that its list for a PyTorch and a CUDA is known to have, oldest first."""
    return tuple(row.version for row in prebuilt_of(package, "") if (row.torch, row.cuda) == (torch, cuda))


def holds_no_framework(address: str) -> bool:
    """Whether a place is one of a project that builds a package next to a framework: it has that package alone."""
    return _host(_plain(address)) in {_host(page) for page in _pages()}


def _host(address: str) -> str:
    """The host of an address; '' where it names none."""
    return address.partition("://")[2].partition("/")[0]


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
