"""Judges whether the named driver lets a container of the image start: what its NVIDIA_REQUIRE_CUDA asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.containers.image_requirements import brand_of, requirement_met
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.driver import branch_of
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.contents import Contents
from envkit.solver.request import Request, TargetGpu
from envkit.tables.images import GeforceBranches
from envkit.tables.known_images import CUDA_REPOSITORY, tag_row
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OF_ITS_OWN_LIST = frozenset({"geforce", "titan"})


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
        met = _image_met(row.cuda, driver, request, matrix)
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
            remedy=Remedy("Update the host driver, or use an older tag of the image."),
        )


def _expression_met(expression: str, driver: Version, request: Request, matrix: Matrix) -> bool | None:
    facts = {"driver": driver}
    reported = _reported_cuda(driver, matrix)
    if reported is not None:
        facts["cuda"] = reported
    capabilities = [gpu.compute_capability for gpu in request.gpus]
    if capabilities:
        facts["arch"] = Version.of(min(capabilities).major, min(capabilities).minor)
    return requirement_met(expression, facts, {brand_of(gpu.name) for gpu in request.gpus} - {""})


def _reported_cuda(driver: Version, matrix: Matrix) -> Version | None:
    """The CUDA version that a driver reports."""
    branch = branch_of(driver, matrix)
    return branch.driver_cuda_version if branch is not None else None


def _image_met(cuda: Version, driver: Version, request: Request, matrix: Matrix) -> bool | None:
    """Whether a driver meets the demand of nvidia/cuda: its CUDA, or one of the branches that cuda-compat takes."""
    reported = _reported_cuda(driver, matrix)
    if reported is None or reported >= cuda.release(2):
        return None if reported is None else True
    toolkit = matrix.toolkit(cuda)
    branches = toolkit.compat_branches if toolkit is not None else None
    if branches is None:
        return None
    if driver.major not in branches:
        return False
    verdicts = [_admitted(cuda, driver.major, gpu) for gpu in request.gpus or (None,)]
    return False if False in verdicts else None if None in verdicts else True


def _admitted(cuda: Version, branch: int, gpu: TargetGpu | None) -> bool | None:
    """Whether a branch that cuda-compat takes is admitted with this GPU; None for one of an unknown brand."""
    if gpu is not None and gpu.data_center:
        return True
    rows = read(GeforceBranches)
    row = next((row for row in rows if row.cuda == cuda), None)
    if row is None or row.branches is None:
        return None
    listed = str(branch) in row.branches
    if gpu is not None and brand_of(gpu.name) in _OF_ITS_OWN_LIST:
        return listed
    return True if listed else None
