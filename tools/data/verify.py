"""Checks every row that says it is on the Python package index against that index.

Run `make verify-data`. Exits 1 and lists the rows that are wrong, 0 with the number of rows checked otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from packaging.requirements import InvalidRequirement, Requirement

from envkit._startup.records import replace
from envkit.tables import Matrix
from envkit.tables.loader import read
from envkit.tables.pairs import PackageWheels
from envkit.tables.rows import CudnnRelease, FrameworkBuild
from tools.data.index import Index, IndexFile, IndexUnreachable, pip_index_url
from tools.data.wheels import package_rows


@dataclass(frozen=True)
class Problem:
    """One thing that a row says and the index does not have."""

    row: str
    told: str

    def __str__(self) -> str:
        return f"{self.row}: {self.told}"


def pinned(requirement: str) -> tuple[str, str] | None:
    """Name and version of a requirement that pins one exact version, otherwise None."""
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return None
    pins = [clause.version for clause in parsed.specifier if clause.operator == "=="]
    return (parsed.name, pins[0]) if pins and "*" not in pins[0] else None


def build_problems(build: FrameworkBuild, index: Index) -> Iterator[Problem]:
    """What is wrong with a build that is said to be on the index."""
    row = f"frameworks/{build.framework}.csv {build.package} (cuda {build.cuda})"
    pin = pinned(build.package or "")
    if pin is None:
        yield Problem(row, "is said to be on the index but pins no version")
        return
    files = index.release(*pin)
    if not files:
        yield Problem(row, "is not on the index")
        return
    if all(file.yanked for file in files) != build.yanked:
        yield Problem(row, f"yanked is {not build.yanked} on the index")
    yield from _reach_problems(build, files, row)
    for companion in build.companions:
        companion_pin = pinned(companion)
        if companion_pin and not index.release(*companion_pin):
            yield Problem(row, f"companion {companion} is not on the index")


def _reach_problems(build: FrameworkBuild, files: tuple[IndexFile, ...], row: str) -> Iterator[Problem]:
    for platform in build.platforms:
        for architecture in build.architectures:
            if platform == "windows" and architecture != "x86_64":
                continue
            here = [file for file in files if file.runs_on(platform, architecture)]
            if not here:
                yield Problem(row, f"has no file for {platform} {architecture}")
                continue
            if platform == build.platforms[0]:
                yield from (
                    Problem(row, f"has no file for Python {python} on {platform} {architecture}")
                    for python in map(str, build.pythons)
                    if architecture == build.architectures[0] and not any(file.serves(python) for file in here)
                )


def cudnn_problems(release: CudnnRelease, index: Index) -> Iterator[Problem]:
    """What is wrong with a cuDNN build that names a package of the index."""
    row = f"cudnn.csv {release.version} for CUDA {release.cuda} on {release.architecture}"
    pin = pinned(release.pip_package or "")
    files = index.release(*pin) if pin else ()
    if not files:
        yield Problem(row, f"{release.pip_package} is not on the index")
    elif all(file.yanked for file in files):
        yield Problem(row, f"{release.pip_package} is yanked on the index")
    elif not any(file.runs_on("linux", release.architecture) for file in files):
        yield Problem(row, f"{release.pip_package} has no file for it")


def wheel_problems(package: str, rows: list[PackageWheels], index: Index) -> Iterator[Problem]:
    """What the rows of a package say otherwise than the index of the releases up to the last of them."""
    told = {row.versions: row for row in package_rows(package, index)}
    for row in rows:
        there = told.get(row.versions)
        if there is None and row is rows[-1]:  # more releases of the same kind came out
            start = row.versions.partition(",")[0].replace("==", ">=")
            there = next((one for versions, one in told.items() if versions.startswith(start)), None)
        if there is None:
            yield Problem(f"package_wheels.csv {package} {row.versions}", "is not on the index")
        elif replace(there, versions=row.versions, sources=row.sources) != row:
            yield Problem(f"package_wheels.csv {package} {row.versions}", f"the index has {there}")


def check(matrix: Matrix, index: Index) -> tuple[int, list[Problem]]:
    """The number of rows checked and every problem found. Raises IndexUnreachable."""
    checked = 0
    problems: list[Problem] = []
    for framework in matrix.frameworks:
        for build in matrix.builds(framework.name):
            if build.on_pypi:
                checked += 1
                problems += build_problems(build, index)
    for release in matrix.cudnns:
        if release.pip_package:
            checked += 1
            problems += cudnn_problems(release, index)
    for package, group in groupby(read(PackageWheels), key=lambda row: row.package):
        rows = list(group)
        checked += len(rows)
        problems += wheel_problems(package, rows, index)
    return checked, problems


def main() -> int:
    """Checks the packaged tables against pip's index and prints what it found."""
    index = Index(pip_index_url())
    try:
        checked, problems = check(Matrix.load(), index)
    except IndexUnreachable as error:
        print(f"The package index cannot be reached: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem)
    print(f"{checked} rows checked with {index.requests} requests: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
