"""Shows what has changed since the tables were written: added, changed and gone, as a difference to review.

Run `make refresh-data`. It reads the package index (one page per package, and the METADATA of each package's newest
release) and NVIDIA's listings where they can be reached, and changes nothing: a row is
written by hand, with its source.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version as PackageVersion

from envkit.base.versions import Version
from envkit.tables import Matrix
from envkit.tables.rows import FrameworkBuild
from tools.data.index import Index, IndexFile, IndexUnreachable, fetch, pip_index_url
from tools.data.verify import pinned

# listing page of NVIDIA's manifests -> the table that holds the same releases
MANIFESTS = {
    "https://developer.download.nvidia.com/compute/cuda/redist/": "toolkits.csv",
    "https://developer.download.nvidia.com/compute/cudnn/redist/": "cudnn.csv",
}
_MANIFEST = re.compile(r"redistrib_(\d+(?:\.\d+)+)\.json")
_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")
_CUDNN = re.compile(r"nvidia-cudnn-cu\d+")


@dataclass(frozen=True)
class Change:
    """One difference between a table and its source; `kind` is added, changed or gone."""

    kind: str
    table: str
    row: str
    told: str

    def __str__(self) -> str:
        mark = {"added": "+", "changed": "~", "gone": "-"}[self.kind]
        return f"{mark} {self.table}: {self.row}: {self.told}"


def package_changes(
    package: str, builds: Iterable[FrameworkBuild], known: set[PackageVersion], index: Index, table: str
) -> Iterator[Change]:
    """The differences between the builds that come from one package of the index and the releases that it has.

    A release that is among the `known` ones, which another package of the framework also has, is no news.
    """
    listed: dict[PackageVersion, FrameworkBuild] = {}
    for build in builds:
        for _, version in _pins([build]):
            listed.setdefault(PackageVersion(version), build)
    files: dict[PackageVersion, list[IndexFile]] = defaultdict(list)
    for file in index.files(package):
        files[file.version].append(file)
    newest = max(listed)
    for release in sorted(files):
        news = release > newest and release not in known and not release.is_prerelease
        if news and not all(file.yanked for file in files[release]):
            yield Change("added", table, f"{package}=={release}", _release_text(files[release]))
    for release, build in sorted(listed.items(), key=lambda item: item[0]):
        if release not in files:
            yield Change("gone", table, f"{package}=={release}", "no file on the index")
            continue
        yield from _build_changes(f"{package}=={release}", build, files[release], table)
    if newest in files:
        yield from _pin_changes(f"{package}=={newest}", listed[newest], files[newest], index, table)


def _release_text(files: list[IndexFile]) -> str:
    pythons = sorted({python for file in files for python in file.pythons()}, key=PackageVersion)
    dates = [file.uploaded for file in files if file.uploaded]
    told = [f"uploaded {min(dates)}"] if dates else []
    told += [f"Python {';'.join(pythons)}"] if pythons else []
    return ", ".join([*told, f"{len(files)} files"])


def _build_changes(row: str, build: FrameworkBuild, files: list[IndexFile], table: str) -> Iterator[Change]:
    platform, architecture = build.platforms[0], build.architectures[0]
    pythons = {python for file in files if file.runs_on(platform, architecture) for python in file.pythons()}
    held = {str(python) for python in build.pythons}
    if pythons and pythons != held:
        yield Change("changed", table, row, f"Python {_joined(held)} here, {_joined(pythons)} on the index")
    yanked = all(file.yanked for file in files)
    if yanked != build.yanked:
        yield Change("changed", table, row, f"yanked {build.yanked} here, {yanked} on the index")
    uploaded = min((file.uploaded for file in files if file.uploaded), default="")
    if uploaded and build.release_date and uploaded[: len(build.release_date)] < build.release_date:
        yield Change("changed", table, row, f"released {build.release_date} here, uploaded {uploaded}")


def _joined(pythons: set[str]) -> str:
    return ";".join(sorted(pythons, key=PackageVersion)) or "unknown"


def _pin_changes(row: str, build: FrameworkBuild, files: list[IndexFile], index: Index, table: str) -> Iterator[Change]:
    """What the nvidia-* requirements of the wheel say other than the row: its CUDA line and its cuDNN."""
    platform, architecture = build.platforms[0], build.architectures[0]
    wheel = next((file for file in files if file.is_wheel and file.runs_on(platform, architecture)), None)
    metadata = index.metadata(wheel) if wheel else None
    for text in metadata.get_all("Requires-Dist") or [] if metadata else []:
        pin = _nvidia_pin(text)
        if pin is None:
            continue
        name, version = pin
        if _RUNTIME.fullmatch(name) and build.cuda is not None and not version.starts_with(build.cuda):
            yield Change("changed", table, row, f"CUDA {build.cuda} here, {name} {version} required")
        if _CUDNN.fullmatch(name) and build.cudnn is not None and not version.starts_with(build.cudnn):
            yield Change("changed", table, row, f"cuDNN {build.cudnn} here, {name} {version} required")


def _nvidia_pin(text: str) -> tuple[str, Version] | None:
    try:
        requirement = Requirement(text)
        if requirement.marker is not None and "extra" in str(requirement.marker):
            return None
        exact = [clause.version for clause in requirement.specifier if clause.operator == "=="]
        return (requirement.name, Version.parse(exact[0])) if exact else None
    except (InvalidRequirement, ValueError):
        return None


def manifest_changes(table: str, listing: str, held: Iterable[Version]) -> Iterator[Change]:
    """The releases that a listing of NVIDIA's manifests names and the table lacks."""
    known = set(held)
    for text in sorted(set(_MANIFEST.findall(listing)), key=lambda text: Version.parse(text).parts):
        version = Version.parse(text)
        if not any(row.starts_with(version) for row in known):
            yield Change("added", table, text, "in NVIDIA's manifests")


def changes(matrix: Matrix, index: Index) -> Iterator[Change]:
    """Every difference between the tables of builds and the index. Raises IndexUnreachable."""
    for framework in matrix.frameworks:
        packages: dict[str, list[FrameworkBuild]] = defaultdict(list)
        for build in matrix.builds(framework.name):
            pin = pinned(build.package or "")
            if build.on_pypi and pin is not None:
                packages[pin[0]].append(build)
        known = {PackageVersion(pin[1]) for builds in packages.values() for pin in _pins(builds)}
        for package, builds in packages.items():
            yield from package_changes(package, builds, known, index, f"frameworks/{framework.name}.csv")


def _pins(builds: Iterable[FrameworkBuild]) -> Iterator[tuple[str, str]]:
    return (pin for build in builds if (pin := pinned(build.package or "")) is not None)


def main() -> int:
    """Prints the differences; exits 1 only where the index cannot be reached."""
    matrix, index = Matrix.load(), Index(pip_index_url())
    found: list[Change] = []
    try:
        found += changes(matrix, index)
    except IndexUnreachable as error:
        print(f"The package index cannot be reached: {error}", file=sys.stderr)
        return 1
    held = {
        "toolkits.csv": [row.version for row in matrix.toolkits],
        "cudnn.csv": [row.version for row in matrix.cudnns],
    }
    for page, table in MANIFESTS.items():
        try:
            found += manifest_changes(table, fetch(page)[1].decode("utf-8", "replace"), held[table])
        except IndexUnreachable as error:
            print(f"Not compared: {table} ({error})", file=sys.stderr)
    for change in sorted(found, key=lambda change: (change.table, change.kind)):
        print(change)
    counts = ", ".join(
        f"{sum(change.kind == kind for change in found)} {kind}" for kind in ("added", "changed", "gone")
    )
    print(f"{counts}; {index.requests} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
