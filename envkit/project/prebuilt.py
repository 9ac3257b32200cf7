"""What is known of the wheels that a project builds outside the index, where the index has sources alone."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.compat.companion_gpus import no_release_runs
from envkit.compat.package_wheels import place_of
from envkit.compat.prebuilt_wheels import install_words, prebuilt_for, prebuilt_of, releases_of_torch
from envkit.project.choose import Chosen
from envkit.solver.query import Query
from envkit.tables.pairs import PrebuiltWheels
from envkit.tables.rows import FrameworkBuild

_FRAMEWORK = "pytorch"


def prebuilt_remedy(package: str, spec: str, have: Chosen, query: Query) -> Remedy | None:
    """The wheel for the file's PyTorch, or which ones are known; None where none of the release is on record."""
    rows = prebuilt_of(package, spec)
    build = next((build for _, build in have.meant if build.framework == _FRAMEWORK and not build.cpu_only), None)
    if (
        not rows
        or build is None
        or build.cuda is None
        or no_release_runs(package, spec, (gpu.compute_capability for gpu in query.request.gpus))
    ):
        return None
    place = place_of(query.packages, query.request.architecture)
    row = prebuilt_for(rows, build.version, build.cuda, place, have.python)
    if row is not None:
        made = f"PyTorch {row.torch} and CUDA {row.cuda}"
        command = f"python -m pip install {install_words(row, have.python)}"
        return Remedy(f"The {package} project has a wheel for {made}. To install it: {command}")
    return Remedy(_others(package, rows, build, place, have.python))


def _others(
    package: str, rows: Iterable[PrebuiltWheels], build: FrameworkBuild, place: str, python: Version | None
) -> str:
    """That none is known for the build, and for which others: of its own PyTorch, otherwise by PyTorch."""
    here = [row for row in rows if place in row.places]
    same = [row for row in here if build.version.starts_with(row.torch)]
    wanted = f"PyTorch {build.version} with CUDA {build.cuda}" + (f" and Python {python}" if python else "")
    none = f"envkit knows of no wheel from its project for {wanted}"
    if same:
        known = "; ".join(dict.fromkeys(map(_one, same)))
    elif here:
        known = f"PyTorch {releases_of_torch(here)}"
    else:
        return f"{none}: compile {package} with CUDA {build.cuda}'s nvcc."
    return f"{none}, only for {known}: use one of those, or compile {package} with CUDA {build.cuda}'s nvcc."


def _one(row: PrebuiltWheels) -> str:
    pythons = f" and Python {', '.join(map(str, row.pythons))}" if row.pythons else ""
    return f"PyTorch {row.torch} with CUDA {row.cuda}{pythons}"
