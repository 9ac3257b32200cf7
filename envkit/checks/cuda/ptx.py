"""What a linker's version of PTX says of the driver, and an environment whose CUDA that driver runs."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment
from envkit.tables.drivers import PtxIsa
from envkit.tables.loader import read


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
