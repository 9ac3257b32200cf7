"""Frameworks that a file asks for under markers, of which none holds for the Python of the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding
from envkit.project.choose import Chosen, holds_here, python_allowed
from envkit.project.model import Item, Manifest
from envkit.project.subject import subject_of
from envkit.solver.request import Request

if TYPE_CHECKING:
    from envkit.tables import Matrix


def gap_findings(manifest: Manifest, have: Chosen, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """The frameworks whose lines all stop short of this Python, while lines for older and for newer ones are there."""
    python = have.python
    if python is None or manifest.locked:
        return
    there = {normalized(one.package.name) for one in have.items}
    for framework in matrix.frameworks:
        lines = [one for one in manifest.items if not one.group and normalized(one.package.name) in framework.packages]
        if not lines or there & set(framework.packages):
            continue
        pythons = sorted({line for build in matrix.builds(framework.name) for line in build.pythons})
        around = [one for one in pythons if python_allowed(manifest.requires_python, one)]
        older = any(_any_holds(lines, one, request) for one in around if one < python)
        newer = any(_any_holds(lines, one, request) for one in around if one > python)
        if older and newer and python in pythons:
            markers = " | ".join(dict.fromkeys(one.package.marker for one in lines))
            title = f"no line for {lines[0].package.name} applies to Python {python}: its markers are {markers}"
            yield finding(
                faults.MARKER_GAP,
                Status.FAIL,
                title,
                subject_of(lines[0]),
                impact=f"The project is installed without {lines[0].package.name}; the first import of it fails.",
                remedy=Remedy(f"Let one of the markers hold for Python {python}, which {framework.title} supports."),
            )


def _any_holds(lines: list[Item], python: Version, request: Request) -> bool:
    return any(holds_here(one, python, request) for one in lines)
