"""Judges whether the named driver lets a container of the image start: what its NVIDIA_REQUIRE_CUDA asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.containers.image_requirements import brand_of, requirement_met
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.driver import driver_floors, reported_cuda
from envkit.compat.image_driver import image_admits
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.contents import Contents
from envkit.solver.request import Request
from envkit.tables.known_images import CUDA_REPOSITORY, tag_row

if TYPE_CHECKING:
    from envkit.tables import Matrix


def requirement_findings(found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """The finding on a driver that the image refuses, or of which that is not known."""
    driver, environment = request.driver, found.environment
    if driver is None or environment.get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "true"):
        return
    row = tag_row(found.base.repository, found.base.tag, matrix)
    asked = environment.get("NVIDIA_REQUIRE_CUDA")
    if asked is not None:  # an empty one hides the base's, and what then counts is not known to envkit
        met = _expression_met(asked, driver, request, matrix) if asked.strip() else None
        asked = next(iter(asked.split()), "an empty NVIDIA_REQUIRE_CUDA")
    elif row is not None and row.repository == CUDA_REPOSITORY and row.cuda is not None:
        met = image_admits(row.cuda, driver, request.gpus, matrix)
        asked = f"cuda>={row.cuda.release(2)}"
    else:
        return
    subject = subject_of(found.base.line, found.base.image)
    if met is None:
        title = f"it is not known whether its containers start with driver {driver}: it requires {asked}"
        yield finding(faults.DRIVER_UNKNOWN, Status.UNKNOWN, title, subject)
    elif not met:
        yield finding(
            faults.DRIVER_TOO_OLD,
            Status.FAIL,
            f"driver {driver} does not meet the image's requirement: NVIDIA_REQUIRE_CUDA={asked}",
            subject,
            impact=f"The container does not start: unsatisfied condition: {asked}.",
            remedy=Remedy(_ways(row.cuda if row is not None else None, driver, matrix)),
        )


def _ways(cuda: Version | None, driver: Version, matrix: Matrix) -> str:
    """Which drivers an image of a CUDA version admits, and which images the driver does."""
    own, floor = reported_cuda(driver, matrix), driver_floors(cuda, matrix).native if cuda is not None else None
    if cuda is None or own is None or floor is None:
        return "Update the host driver, or use an older tag of the image."
    row = next((row for row in matrix.toolkits if row.version == cuda), None)
    branches = [
        str(branch) for branch in (row.compat_branches or () if row is not None else ()) if branch < floor.major
    ]
    with_compat = f" (on data center GPUs, branch {series(branches, 'or')} also does)" if branches else ""
    return f"Update the host driver to {floor} or newer{with_compat}, or use a tag for CUDA {own.release(2)} or older."


def _expression_met(expression: str, driver: Version, request: Request, matrix: Matrix) -> bool | None:
    facts = {"driver": driver}
    reported = reported_cuda(driver, matrix)
    if reported is not None:
        facts["cuda"] = reported
    capabilities = [gpu.compute_capability for gpu in request.gpus]
    if capabilities:
        facts["arch"] = Version.of(min(capabilities).major, min(capabilities).minor)
    return requirement_met(expression, facts, {brand_of(gpu.name) for gpu in request.gpus} - {""})
