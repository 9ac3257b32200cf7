"""Which packages, in their newest release, make pip replace a framework that an earlier command has pinned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.base_replaced import goes_into_the_base
from envkit.dockerfile.check_parts import finding, package_subject
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.newest_floors import floor_in_words, newest_floor
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import pinned_release
from envkit.tables.build_tools import FrameworkFloor
from envkit.tables.loader import read
from envkit.tables.rows import framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix


@record
class _Pin:
    """A framework at one release, and the command that installs it."""

    version: Version
    package: Package
    step: Step


def pins_outgrown(made: Iterable[Ground], matrix: Matrix) -> Iterator[Finding]:
    """The first such package of each stage, where the framework is pinned once and no list was left unread.

    Within one command pip goes back to an older release of the package instead.
    """
    titles = {name: row.name for row in matrix.frameworks for name in row.packages}
    for ground in made:
        pins = {} if ground.reads_unseen else _pins(ground)
        if pins:
            yield from _first(ground, pins, titles)


def _pins(ground: Ground) -> dict[str, _Pin]:
    """The frameworks that a single command of the stage asks for, and pins."""
    frameworks = {row.framework for row in read(FrameworkFloor)}
    asked: dict[str, list[tuple[Package, Step]]] = {}
    for step in ground.steps:
        for package in step.packages:
            if normalized(package.name) in frameworks:
                asked.setdefault(normalized(package.name), []).append((package, step))
    found: dict[str, _Pin] = {}
    for name, calls in asked.items():
        package, step = calls[0]
        pin = pinned_release(package.spec) if package.tool == "pip" and len(calls) == 1 else None
        if pin is not None and goes_into_the_base(step):
            found[name] = _Pin(Version.parse(pin), package, step)
    return found


def _first(ground: Ground, pins: dict[str, _Pin], titles: dict[str, str]) -> Iterator[Finding]:
    bounded = ground.bounded
    for step in ground.steps:
        for package in step.packages if goes_into_the_base(step) else ():
            row = newest_floor(package, python_for(package, step, ground), pins)
            if row is None or (row.through or row.package) in bounded:
                continue
            pin = pins[row.framework]
            apart = step.place > pin.step.place and package.caller == pin.package.caller and not package.marker
            if apart and pin.version < row.floor:
                title = framework_title(titles[row.framework])
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.WARN,
                    f"{floor_in_words(row)}, but an earlier command installs {row.framework}=={pin.version}",
                    package_subject(package),
                    impact=f"pip replaces {title} {pin.version} with a newer release, which may need a newer driver; "
                    f"what was installed for {pin.version} may break.",
                    remedy=Remedy(
                        f"Install both in one pip command, so that pip picks a {row.through or row.package} release "
                        f"that works with {row.framework}=={pin.version}, or pin that release."
                    ),
                    sources=row.sources,
                )
                return
