"""What a linker's version of PTX says of the driver, and an environment whose CUDA that driver runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment
from envkit.tables.drivers import PtxIsa
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix


def cuda_of_ptx(environment: Environment) -> Version | None:
    """The CUDA of the driver whose linker names the version of PTX that it knows."""
    have = Version.find(named(seen(environment, "ptx-newer-than-driver", "link"), "have") or "")
    return next((row.cuda for row in read(PtxIsa) if row.ptx == have), None)


def older_cudatoolkit(environment: Environment, own: Version) -> Remedy:
    """For Numba and others that compile with conda's cudatoolkit: one that the driver runs, which is the smaller
    step."""
    return remedy(
        environment,
        f"This driver compiles for CUDA {own} and older, and the environment's cudatoolkit is newer: install one that "
        f"is not newer than {own} (conda has no package for some releases, and takes the one before), in the active "
        "environment. Or install a newer driver.",
        "older-cudatoolkit",
        version=own,
    )


def of_cudatoolkit(environment: Environment, own: Version | None) -> Remedy | None:
    """The same where the text shows conda's cudatoolkit next to a driver that is too old for it."""
    shown = seen(environment, "driver-too-old-for-runtime", "detail-cudatoolkit")
    return older_cudatoolkit(environment, own.release(2)) if own is not None and shown else None


def reported_by(environment: Environment, matrix: Matrix) -> Version | None:
    """The highest CUDA of the driver's branch, where only the driver's version is known."""
    from envkit.compat.driver import reported_cuda

    version = installed(environment)
    return reported_cuda(version, matrix, driver_platform(environment)) if version is not None else None
