"""What releases require of other packages in certain versions, as rows of package_needs.csv.

`python -m tools.data.needs NAME…` prints the rows of packages, to be put into the table or compared with it. What the
other tables hold is left out: the packages of CUDA libraries, NumPy of a framework, and the pairs of package_pairs.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier
from packaging.utils import canonicalize_name
from packaging.version import Version

from envkit.tables import Matrix
from envkit.tables.loader import read
from envkit.tables.pairs import PackageNeed, PackagePair
from tools.data.index import Index, IndexFile, pip_index_url
from tools.data.remote_zip import member

_LIBRARIES = ("nvidia-", "tensorrt")  # in package_requirements.csv
_FOR_GPUS = ("cuda", "and-cuda", "cudnn")  # extras that bring a build for GPUs
_WITH_ALL, _SERVERS = ("sglang",), ("all'", "srt'")  # packages whose server is an extra

Line = tuple[str, str]  # what is required, and its marker


def need_rows(package: str, releases: Mapping[str, Iterable[str]]) -> Iterator[PackageNeed]:
    """The rows of a package, from the Requires-Dist of its releases; those in a row that require the same are one."""
    order = sorted(releases, key=Version)
    lines = {release: set(_lines(package, release, _in_full(package, releases[release]))) for release in order}
    for need in sorted(set().union(*lines.values())):
        for first, last in _spans(order, [need in lines[release] for release in order]):
            yield PackageNeed(package, first, last, *need, (f"pypi-{package}",))


def _spans(order: list[str], having: list[bool]) -> Iterator[tuple[str, str]]:
    start: str | None = None
    last = ""
    for release, has in zip(order, having, strict=True):
        if has:
            start, last = start or release, release
        elif start is not None:
            yield start, last
            start = None
    if start is not None:
        yield start, last


def _in_full(package: str, required: Iterable[str]) -> Iterator[str]:
    """The lines, where an extra asks for others of its package (`sglang[srt]; extra == "all"`) those for it as well."""
    required = tuple(required)
    yield from required
    nested: dict[str, set[str]] = {}
    for extra, other in _nested(package, required):
        nested.setdefault(extra, set()).add(other)
    for extra in nested:
        for other in sorted(_reached(extra, nested)):
            old, new = f"extra == '{other}'", f"extra == '{extra}'"
            yield from (text.replace('"', "'").replace(old, new) for text in required if old in text.replace('"', "'"))


def _reached(extra: str, nested: Mapping[str, set[str]]) -> set[str]:
    """The extras that one asks for, and those that they ask for in turn."""
    found: set[str] = set()
    waiting = [extra]
    while waiting:
        new = nested.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found - {extra}


def _nested(package: str, required: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in required:
        name, _, rest = text.replace('"', "'").partition("[")
        extras, _, marker = rest.partition("]")
        _, found, extra = marker.partition("extra == '")
        if canonicalize_name(name) == package and found:
            yield from ((extra.partition("'")[0], other.strip().replace("_", "-")) for other in extras.split(","))


def _lines(package: str, release: str, required: Iterable[str]) -> Iterator[Line]:
    for text in required:
        try:
            line = Requirement(text)
        except InvalidRequirement:
            continue
        name, marker = canonicalize_name(line.name), str(line.marker or "").replace('"', "'")
        paired = not marker and name in _pairs().get((package, release), ())
        if line.specifier and not paired and not _is_of_cuda(package, name) and _is_told(package, marker):
            clauses = ",".join(sorted((_clause(one) for one in line.specifier), reverse=True))
            yield f"{name}{clauses}", marker


def _clause(one: Specifier) -> str:
    """A clause with its release as indexes write it: `>=0.8.0rc0` for `>=0.8.0-rc.0`, `<5.0.0` for `<5.0.0dev`."""
    if one.version.endswith(".*"):
        return str(one)
    release = Version(one.version)
    unreleased = one.operator == "<" and release.is_devrelease  # no release is between the two
    return f"{one.operator}{release.base_version if unreleased else release}"


def _is_told(package: str, marker: str) -> bool:
    """Whether a line is for everybody, or for an extra that brings a build for GPUs."""
    _, found, extra = marker.partition("extra == '")
    return not found or extra.startswith(_FOR_GPUS) or (package in _WITH_ALL and extra.startswith(_SERVERS))


def _is_of_cuda(package: str, name: str) -> bool:
    """Whether a framework's own rows have it: its NumPy, and the packages of CUDA libraries."""
    return package in _frameworks() and (name == "numpy" or name.startswith(_LIBRARIES))


@cache
def _pairs() -> dict[tuple[str, str], set[str]]:
    """What package_pairs.csv has of each release."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in read(PackagePair):
        found[row.package, row.version] = {
            str(canonicalize_name(Requirement(line).name)) for line in row.requires or ()
        }
    return found


@cache
def _frameworks() -> set[str]:
    return {canonicalize_name(name) for row in Matrix.load().frameworks for name in row.packages}


def releases_of(package: str, index: Index) -> dict[str, list[str]]:
    """The Requires-Dist of each release that has a wheel for Linux. Raises IndexUnreachable."""
    wheels: dict[str, IndexFile] = {}
    for file in index.files(package):
        if file.is_wheel and not file.version.is_prerelease and file.runs_on("linux", "x86_64"):
            wheels.setdefault(file.version.public, file)
    found = {release: index.metadata(wheel) for release, wheel in wheels.items()}
    return {release: told.get_all("Requires-Dist") or [] for release, told in found.items() if told is not None}


def main(names: list[str]) -> int:
    """Prints the rows of the packages named."""
    index = Index(pip_index_url(), inside=member)
    printed = csv.writer(sys.stdout, lineterminator="\n")
    for name in names:
        for row in need_rows(name, releases_of(name, index)):
            printed.writerow([row.package, row.first, row.last, row.requires, row.marker, *row.sources])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
