"""Where a package of yesterday is installed with a companion of today, beside which it cannot be imported."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.names import normalized
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stops_packages import asks_only
from envkit.tables.loader import read
from envkit.tables.program_stops import NewerCompanion

# Images whose own packages of Python bound none of the companions, but may have some of them.
_PYTORCH = "pytorch/pytorch"
_IN_CONDA = frozenset({"jinja2", "markupsafe"})


def companion_outgrown(ground: Ground) -> Iterator[Finding]:
    """The first package that is pinned to such a release where nothing bounds its companion."""
    if not (ground.stock or ground.base.repository == _PYTORCH) or not ground.first or ground.reads_unseen:
        return
    rows: dict[str, list[NewerCompanion]] = {}
    for known in read(NewerCompanion):
        rows.setdefault(known.package, []).append(known)
    named = ground.specs
    for step in ground.steps:
        for package in step.packages:
            row = next(
                (one for one in rows.get(normalized(package.name), ()) if _meets(package, one, step, ground)), None
            )
            if row is None or _is_held(row, named) or (not ground.stock and row.companion in _IN_CONDA):
                continue
            yield stop(
                faults.REQUIREMENTS_CLASH,
                f"{package.asked} does not work with {row.companion} {row.since} or newer, which pip installs with it:"
                f" {row.because}",
                package_subject(package),
                impact="It installs, and stops when it is imported.",
                fix=f"Add '{row.companion}<{row.since}', or use a newer {package.name}.",
                sources=row.sources,
            )
            return


def _meets(package: Package, row: NewerCompanion, step: Step, ground: Ground) -> bool:
    """Whether pip certainly installs such a release on a Python for which the companion has newer ones."""
    if package.tool != "pip" or package.held or package.places.index or package.marker:
        return False
    python = ground.pythons.of(package.caller, step.place)
    return python is not None and python.release(2) >= row.python and asks_only(package, row.versions)


def _is_held(row: NewerCompanion, named: dict[str, str]) -> bool:
    """True where something in the file may bound the companion."""
    if named.get(row.companion):
        return True
    for held in row.held_by:
        name, release, version = held.partition("==")
        spec = named.get(name, "")
        if spec and (not release or spec.removeprefix("==").startswith(version)):
            return True
    return False
