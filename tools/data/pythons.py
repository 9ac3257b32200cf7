"""For which Pythons pip finds each release of packages, as rows of image/package_pythons.csv.

`python -m tools.data.pythons NAME…` prints the rows of packages, to be put into the table or compared with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from tools.data.index import Index, IndexFile, pip_index_url

# Minor releases of Python 3 that an image may have.
_MINORS = range(5, 15)


def package_pythons(package: str, index: Index) -> Iterator[tuple[str, str]]:
    """Ranges of releases, oldest first, each with the bounds of the Pythons that pip finds them for.

    Releases for every Python are left out, as are those whose Pythons are no range. Raises IndexUnreachable.
    """
    releases: dict[Version, list[IndexFile]] = {}
    for file in index.files(package):
        if not file.version.is_prerelease and not file.version.is_postrelease:
            releases.setdefault(file.version, []).append(file)
    found = [(version, _bounds(files)) for version, files in sorted(releases.items())]
    for bounds, group in groupby(found, key=lambda one: one[1]):
        versions = [version for version, _ in group]
        first, last = versions[0].base_version, versions[-1].base_version
        if bounds:
            yield (f"=={first}" if first == last else f">={first},<={last}"), bounds


def _bounds(files: Iterable[IndexFile]) -> str:
    served = [minor for minor in _MINORS if any(_serves(file, minor) for file in files)]
    if not served or served != list(range(served[0], served[-1] + 1)):
        return ""
    bounds = [f">=3.{served[0]}"] if served[0] > _MINORS[0] else []
    bounds += [f"<3.{served[-1] + 1}"] if served[-1] < _MINORS[-1] else []
    return ",".join(bounds)


def _serves(file: IndexFile, minor: int) -> bool:
    """Whether pip takes a file with such a Python on Linux."""
    try:
        if not SpecifierSet(str(file.requires_python or "")).contains(f"3.{minor}.99"):
            return False
    except InvalidSpecifier:
        return True
    if not file.is_wheel:
        return True
    if not file.runs_on("linux", "x86_64"):
        return False
    return any(_fits(tag, abi, minor) for tag, abi, _ in file.tags)


def _fits(tag: str, abi: str, minor: int) -> bool:
    if tag in ("py3", f"cp3{minor}", f"py3{minor}"):
        return True
    older = tag.removeprefix("cp3")
    return abi == "abi3" and older.isdigit() and int(older) <= minor


def main(names: list[str]) -> int:
    """Prints the rows of the packages named."""
    index = Index(pip_index_url())
    for name in names:
        for versions, pythons in package_pythons(name, index):
            cells = (name, versions, pythons, f"pypi-{name}")
            print(",".join(f'"{cell}"' if "," in cell else cell for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
