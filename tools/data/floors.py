"""Which framework the newest releases of packages require at least, as rows of image/framework_floors.csv.

`python -m tools.data.floors NAME…` prints the rows of packages, to be put into the table or compared with it. What a
package requires counts too, where that is among those named. Below them stand the packages that require torch at all,
for image/torch_bringers.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.data.index import Index, IndexFile, IndexUnreachable, pip_index_url
from tools.data.remote_zip import member

FRAMEWORKS = ("torch", "tensorflow", "jax")
_PYTHONS = tuple(f"3.{minor}" for minor in range(7, 15))
_AT_LEAST = (">=", "==", "~=", ">")
_AT_ONCE = 8
_SOURCE = "pypi-metadata"


@dataclass(frozen=True)
class Floor:
    """The least release of a framework; `through` is the package that requires it, '' for the package itself."""

    framework: str
    version: Version
    through: str


@dataclass
class Newest:
    """The requirements of the newest release that pip takes with a Python on Linux, looked up once."""

    index: Index
    through: frozenset[str]  # the packages whose own requirements count
    _known: dict[tuple[str, str, str], tuple[Requirement, ...]] = field(default_factory=dict)

    def requirements(self, package: str, python: str, within: SpecifierSet) -> tuple[Requirement, ...]:
        """Those that hold without an extra; () where no release has a wheel, or the index has no metadata of it."""
        key = (canonicalize_name(package), python, str(within))
        if key not in self._known:
            file = self._file(package, python, within)
            message = self.index.metadata(file) if file is not None else None
            lines = message.get_all("Requires-Dist", []) if message is not None else []
            self._known[key] = tuple(_held(lines, python))
        return self._known[key]

    def _file(self, package: str, python: str, within: SpecifierSet) -> IndexFile | None:
        """The wheel of the newest release; None where that has only a source."""
        taken = [
            file
            for file in self.index.files(package)
            if not (file.yanked or file.version.is_prerelease) and within.contains(file.version)
            if file.serves(python) and file.runs_on("linux", "x86_64")
        ]
        newest = max((file.version for file in taken), default=None)
        return next((file for file in taken if file.version == newest and file.is_wheel), None)


def _held(lines: list[str], python: str) -> Iterator[Requirement]:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "extra": "",
    }
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield requirement


def framework_floors(package: str, newest: Newest) -> Iterator[tuple[str, Floor]]:
    """For each framework, from which Python on the newest release requires at least which release of it.

    A requirement of a named package that it requires counts as well, one step far. Raises IndexUnreachable.
    """
    for framework in FRAMEWORKS:
        before: Floor | None = None
        for python in _PYTHONS:
            found = _floor(package, framework, python, newest)
            if found is not None and found != before:
                yield python, found
            before = found or before


def requires(package: str, framework: str, newest: Newest) -> bool:
    """Whether the newest releases for all Pythons that it has any for require a framework, without an extra."""
    listed = [newest.requirements(package, python, SpecifierSet()) for python in _PYTHONS]
    named = [framework in {canonicalize_name(one.name) for one in lines} for lines in listed if lines]
    return bool(named) and all(named)


def _floor(package: str, framework: str, python: str, newest: Newest) -> Floor | None:
    own = newest.requirements(package, python, SpecifierSet())
    floors = [Floor(framework, version, "") for version in _least(own, framework)]
    for requirement in own:
        name = canonicalize_name(requirement.name)
        if name in newest.through and name != canonicalize_name(package):
            beyond = newest.requirements(name, python, requirement.specifier)
            floors += [Floor(framework, version, name) for version in _least(beyond, framework)]
    return max(floors, key=lambda one: (one.version, not one.through), default=None)


def _least(requirements: tuple[Requirement, ...], framework: str) -> Iterator[Version]:
    for requirement in requirements:
        if canonicalize_name(requirement.name) == framework:
            bounds = [one for one in requirement.specifier if one.operator in _AT_LEAST]
            yield from (Version(Version(one.version.removesuffix(".*")).base_version) for one in bounds)


def main(names: list[str]) -> int:
    """Prints the rows of the packages named."""
    newest = Newest(Index(pip_index_url(), inside=member), frozenset(map(canonicalize_name, names)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for name, rows in zip(names, pool.map(partial(_rows, newest=newest), names), strict=True):
            for python, floor in rows:
                print(
                    f"{canonicalize_name(name)},,{floor.framework},{floor.version},{python},{floor.through},{_SOURCE}"
                )
    for name in names:
        if requires(name, FRAMEWORKS[0], newest):
            print(f"{canonicalize_name(name)},{_SOURCE}")
    return 0


def _rows(name: str, newest: Newest) -> list[tuple[str, Floor]]:
    try:
        return list(framework_floors(name, newest))
    except IndexUnreachable as error:
        print(f"{name}: {error}", file=sys.stderr)
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
