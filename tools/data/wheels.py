"""What the index holds of the packages next to a framework, as rows of package_wheels.csv: wheels, or sources alone.

`python -m tools.data.wheels NAME…` prints the rows of packages, to be put into the table or compared with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from packaging.version import Version

from envkit.tables.pairs import PackageWheels
from tools.data.index import Index, IndexFile, pip_index_url

_PLACES = {
    "linux": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "windows": ("windows", "x86_64"),
}
_ANY = "*"  # every Python that the release allows


def package_rows(package: str, index: Index) -> Iterator[PackageWheels]:
    """The rows of a package, oldest first: releases in a row that come alike are one. Raises IndexUnreachable."""
    releases: dict[Version, list[IndexFile]] = {}
    for file in index.files(package):
        if not file.version.is_prerelease:
            releases.setdefault(file.version, []).append(file)
    came = [(version, _came(files)) for version, files in sorted(releases.items())]
    for (wheels, source, requires), group in groupby(came, key=lambda one: one[1]):
        versions = [version for version, _ in group]
        first, last = versions[0].public, versions[-1].public
        span = f"=={first}" if first == last else f">={first},<={last}"
        yield PackageWheels(package, span, wheels, source, requires, (f"pypi-{package}",))


def _came(files: list[IndexFile]) -> tuple[tuple[str, ...], bool, str]:
    """The wheels of a release by place, whether it has sources, and the Pythons that it allows."""
    wheels = []
    for place, (platform, machine) in _PLACES.items():
        pythons = _pythons(file for file in files if file.is_wheel and file.runs_on(platform, machine))
        if pythons:
            wheels.append(f"{place} {' '.join(pythons)}")
    bounds = {str(file.requires_python) for file in files}
    requires = ",".join(sorted(bounds.pop().split(","), reverse=True)) if len(bounds) == 1 else ""
    return tuple(wheels), any(not file.is_wheel for file in files), requires


def _pythons(files: Iterable[IndexFile]) -> list[str]:
    """3.8 and 3.9 for their own wheels, 3.8+ for one of the stable ABI, * for one of every Python."""
    found: set[str] = set()
    for file in files:
        for tag, abi, _ in file.tags:
            exact = re.fullmatch(r"cp(\d)(\d+)", tag)
            if tag.startswith("py3"):
                found.add(_ANY)
            elif exact and not abi.endswith("t"):
                found.add(f"{exact[1]}.{exact[2]}{'+' if abi == 'abi3' else ''}")
    if _ANY in found:
        return [_ANY]
    return sorted(found, key=lambda one: Version(one.rstrip("+")))


def main(names: list[str]) -> int:
    """Prints the rows of the packages named."""
    index = Index(pip_index_url())
    for name in names:
        for row in package_rows(name, index):
            source = "y" if row.source else "n"
            cells = [row.package, row.versions, ";".join(row.wheels or ()) or "-", source, row.requires_python]
            print(",".join(f'"{cell}"' if "," in cell else cell for cell in (*cells, *row.sources)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
