"""Which packages bring what the framework of the base image does not go with: a NumPy, or a newer release of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import REQUIREMENT, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.software import range_of_row, some_version_meets
from envkit.dockerfile.base_replaced import goes_into_the_base, is_confined, packages_of, stays_in_base
from envkit.dockerfile.check_parts import finding, package_subject
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import python_of_tag
from envkit.dockerfile.newest_floors import floor_in_words, newest_floor
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import is_bounded
from envkit.tables.build_stops import numpy_bringers
from envkit.tables.codes import limit
from envkit.tables.images import numpy_needs_python
from envkit.tables.rows import FrameworkImage, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LIST = ".txt"


def base_outgrown(made: Iterable[Ground], found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The first such package of each kind in each stage, where nothing else may replace the framework on purpose."""
    named = (*found.packages, *found.elsewhere)
    for ground in made:
        own = ground.base.own
        if own is None or own.version is None or is_confined(ground):
            continue
        names = packages_of(own, matrix)
        python = own.python or python_of_tag(own)
        asked = [one for one in named if normalized(one.name) in names]
        if python is None or not all(stays_in_base(one, own) for one in asked):
            continue
        held = any(is_bounded(one.spec) for one in asked)  # pip goes back with the rest
        unread = any(one.name.endswith(_LIST) for one in found.lists)
        replaced = () if held or unread else _floors(ground, own, names, python)
        told = tuple(replaced)
        yield from told
        if not told and _takes_numpy_one(own, matrix):
            yield from _numpy_two(ground, own, python)


def _takes_numpy_one(own: FrameworkImage, matrix: Matrix) -> bool:
    """Whether every build of the framework's release was made for the first NumPy alone."""
    rows = [row for row in matrix.builds(own.framework) if own.version is not None and row.version == own.version]
    return bool(rows) and all(
        row.numpy and not range_of_row(row.numpy).holds(limit("numpy-of-new-abi")) for row in rows
    )


def _numpy_two(ground: Ground, own: FrameworkImage, python: Version) -> Iterator[Finding]:
    pinned = max((step.place for step in ground.steps if _pins_numpy(step)), default=())
    for step in ground.steps:
        for package in step.packages if step.place >= pinned and goes_into_the_base(step) else ():
            why = _brings_numpy_two(package, step, python, pinned=step.place == pinned)
            if why:
                name = f"{framework_title(own.framework)} {own.version}"
                yield finding(
                    faults.NUMPY_UNBOUNDED,
                    Status.WARN,
                    f"{why} NumPy 2, but the {name} in {ground.base.image} was built for NumPy 1",
                    package_subject(package),
                    impact=faults.NUMPY_IMPACT,
                    remedy=Remedy(
                        "Pin NumPy in the same pip install.", (run("pip", "install", REQUIREMENT("numpy<2")),)
                    ),
                )
                return


def _brings_numpy_two(package: Package, step: Step, python: Version, *, pinned: bool) -> str:
    """How a package certainly brings NumPy 2, as the start of a sentence; blank where it does not."""
    if package.tool != "pip" or package.held:
        return ""
    if normalized(package.name) == "numpy":
        return _asks_numpy_two(package, step, python)
    row = numpy_bringers().get(normalized(package.name))
    forced = row is not None and row.forces is not None and python.release(2) >= row.forces
    return f"the newest {package.name} needs" if forced and not pinned and not is_bounded(package.spec) else ""


def _asks_numpy_two(package: Package, step: Step, python: Version) -> str:
    new = limit("numpy-of-new-abi")
    floor = numpy_needs_python(new)
    if package.spec:
        try:
            asked = VersionSpec.parse(package.spec)
        except ValueError:
            return ""
        return "" if some_version_meets((asked, VersionSpec((("<", new),)))) else f"{package.asked} is"
    upgrades = not {"-U", "--upgrade"}.isdisjoint(step.command.words)
    return "the newest numpy is" if upgrades and floor is not None and python.release(2) >= floor else ""


def _pins_numpy(step: Step) -> bool:
    return any(normalized(one.name) == "numpy" and is_bounded(one.spec) for one in step.packages)


def _floors(ground: Ground, own: FrameworkImage, names: set[str], python: Version) -> Iterator[Finding]:
    for step in ground.steps:
        for package in step.packages if goes_into_the_base(step) else ():
            row = newest_floor(package, python, names)
            if row is None:
                continue
            if own.version is not None and own.version < row.floor:
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.WARN,
                    f"{floor_in_words(row)}, but {row.framework} {own.version} is in the base image",
                    package_subject(package),
                    impact=f"pip replaces the {framework_title(own.framework)} in {ground.base.image} with its newest "
                    "release, which needs a newer CUDA and driver.",
                    remedy=Remedy(f"Pin a release of {row.through or row.package} for that framework."),
                    sources=row.sources,
                )
                return
