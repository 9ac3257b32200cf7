"""Where a build stops because a pinned release is not for the image's Python: packages of which only that is known."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.names import normalized
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.release_pythons import is_left_out, least_row, pinned_row, rows_of
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import least_python
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stops_releases import elsewhere, from_default_index
from envkit.tables.codes import limit


def release_for_other_python(ground: Ground) -> Iterator[Finding]:
    """The first package of each command whose release pip does not find for this Python."""
    if elsewhere(ground):
        return
    for step in ground.steps:
        if not step.command.decisive:
            continue
        for package in step.packages:
            found = _other(package, step, ground)
            if found is not None:
                yield found
                break


def _other(package: Package, step: Step, ground: Ground) -> Finding | None:
    if not package.spec or not from_default_index(package):
        return None
    rows = rows_of(normalized(package.name))
    exact = ground.pythons.of(package.caller, step.place) if rows else None
    python = exact or (least_python(ground) if rows else None)
    if python is None or python.release(2) < limit("python-of-pip-with-requires-python"):
        return None
    row = pinned_row(rows, package.spec) or (least_row(rows, package.spec, python) if exact is not None else None)
    if row is None or not is_left_out(row, python, certain=exact is not None):
        return None
    image = f"the image has Python {python}" if exact is not None else f"the image has Python {python} or newer"
    return stop(
        faults.PYTHON_WITHOUT_PACKAGE,
        f"{package.asked} is for Python {row.pythons.replace(',', ', ')}, and {image}",
        package_subject(package),
        impact="The build stops with 'No matching distribution found'.",
        fix=f"Use a {package.name} release for that Python, or another Python version.",
        sources=row.sources,
    )
