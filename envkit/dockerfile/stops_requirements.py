"""Where pip stops at a list of requirements itself: two releases of one package, or a module of Python's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.containers.image_faults import REQUIREMENTS_CLASH
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.packages import Package
from envkit.tables.build_tools import OwnModule
from envkit.tables.loader import read

_PIN = regex(r"={2,3}(\d{1,4}(?:\.\d{1,4}){0,4})")


def pinned_twice(ground: Ground) -> Iterator[Finding]:
    """The first package that one command pins to two releases: no pip takes that."""
    for step in ground.steps:
        twice = twice_pinned(step.packages) if step.command.decisive else None
        if twice is not None:
            package, other = twice
            yield stop(
                REQUIREMENTS_CLASH,
                f"{package.asked} is requested, and {other} as well, by the same command",
                package_subject(package),
                impact="The build stops: pip installs one release of a package.",
                fix=f"Remove one of the two requirements for {package.name}.",
                sources=("pip-install-reference",),
            )
            return


def twice_pinned(packages: Iterable[Package]) -> tuple[Package, str] | None:
    """The package that is pinned to another release before, and what was asked for there."""
    pins: dict[str, tuple[Version, str]] = {}
    for package in packages:
        pin = _PIN.fullmatch(package.spec)
        if pin is None or package.tool != "pip" or package.marker or package.held:
            continue
        version = Version.parse(pin[1])
        other, asked = pins.setdefault(normalized(package.name), (version, package.asked))
        if not (version.starts_with(other) or other.starts_with(version)):
            return package, asked
    return None


def of_python_itself(ground: Ground) -> Iterator[Finding]:
    """The first package that is a module of Python, under whose name no index has one."""
    names = {row.module: row for row in read(OwnModule)}
    for step in ground.steps:
        for package in step.packages if step.command.decisive else ():
            row = names.get(normalized(package.name))
            if row is not None and package.tool == "pip" and not package.places.index and not package.places.more:
                yield stop(
                    faults.INDEX_WITHOUT_PACKAGE,
                    f"{package.name} is a module of Python itself: no index has a package of this name",
                    package_subject(package),
                    impact="The build stops with 'No matching distribution found'.",
                    fix=f"Remove {package.name}.",
                    sources=row.sources,
                )
                return
