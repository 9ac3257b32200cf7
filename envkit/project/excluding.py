"""What excludes itself in a project: two packages of one folder, bounds of one, a Python that a pin refuses."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.package_wheels import wheels_of
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.stops_requirements import never_met, twice_pinned
from envkit.project.choose import Chosen, python_allowed
from envkit.project.model import Item, Manifest
from envkit.project.subject import subject_of
from envkit.tables.loader import read
from envkit.tables.pairs import SharedFolder

_PYTHONS = tuple(Version.of(3, minor) for minor in range(6, 20))


def excluding_findings(manifest: Manifest, have: Chosen) -> Iterator[Finding]:
    """All of them; a lock file holds what its tool chose, so its pins and its Pythons are left alone."""
    yield from _shared_folders(have)
    if not manifest.locked:
        yield from _pinned_twice(have)
        yield from _never_met(have)
        yield from _python_too_wide(manifest, have)


def _shared_folders(have: Chosen) -> Iterator[Finding]:
    """Two packages that install the same module, of which the one overwrites the other's files."""
    names = {normalized(one.package.name): one for one in have.items if one.package.tool == "pip"}
    for row in read(SharedFolder):
        both = [names[package] for package in row.packages if package in names]
        if len(both) > 1:
            first, second = both[:2]
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.WARN,
                f"{first.package.name} and {second.package.name} both install the module {row.module}",
                subject_of(second),
                impact=row.impact,
                remedy=Remedy(f"Keep one of the two: {row.keep}."),
                sources=row.sources,
            )


def _pinned_twice(have: Chosen) -> Iterator[Finding]:
    twice = twice_pinned(one.package for one in have.items)
    if twice is not None:
        package, asked = twice
        at = next((one for one in have.items if one.package is package), have.item_of(normalized(package.name)))
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.FAIL,
            f"{package.asked} is requested, and {asked} as well",
            subject_of(at),
            impact="The installer stops: it installs one release of a package.",
            remedy=Remedy(f"Remove one of the two requirements for {package.name}."),
            sources=("pip-install-reference",),
        )


def _never_met(have: Chosen) -> Iterator[Finding]:
    """Each package whose own bounds exclude each other; those of two groups may never be installed together."""
    for one in have.items:
        if never_met((one.package,)) is not None:
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                f"no version of {one.package.name} can meet {one.package.spec}",
                subject_of(one),
                impact="The installer stops: it finds no version that it accepts.",
                remedy=Remedy(f"Correct the bounds of {one.package.name}."),
                sources=("pip-install-reference",),
            )


def _python_too_wide(manifest: Manifest, have: Chosen) -> Iterator[Finding]:
    """The first pinned release that refuses the oldest Pythons which the project allows."""
    allowed = [python for python in _PYTHONS if python_allowed(manifest.requires_python, python)]
    if not manifest.requires_python or manifest.python is not None or not allowed:
        return
    for one in have.items:
        least, sources = _least_python(one)
        if least is None or allowed[0] >= least or not any(python >= least for python in allowed):
            continue
        yield finding(
            faults.PYTHON_WITHOUT_PACKAGE,
            Status.WARN,
            f"{one.package.asked} requires Python {least} or newer, but the project allows Python {allowed[0]}",
            subject_of(one),
            impact="Poetry, PDM, and uv refuse to lock the project; with that Python, pip finds no such release.",
            remedy=Remedy(f"Require Python >={least} in the project."),
            sources=sources,
        )
        return


def _least_python(one: Item) -> tuple[Version | None, tuple[str, ...]]:
    """The oldest Python that a pinned release allows by its metadata; None where no such bound is known."""
    package = one.package
    pinned = package.tool == "pip" and not package.marker and package.wheel is None and pinned_release(package.spec)
    rows = wheels_of(normalized(package.name), package.spec.partition("+")[0]) if pinned else ()
    if len(rows) != 1 or not rows[0].requires_python:
        return None, ()
    taken = [python for python in _PYTHONS if python_allowed(rows[0].requires_python, python)]
    return (taken[0], rows[0].sources) if taken and taken[0] > _PYTHONS[0] else (None, ())
