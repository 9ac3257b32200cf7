"""Containers on Windows that lack a library of a newer driver, because what mounts the driver does not know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, Remedy, ok, skip
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _newer(environment: Environment, matrix: Matrix) -> Remedy:
    """Docker Desktop provides its own copy; a Docker inside WSL has the package."""
    return Remedy(
        f"If you use Docker Desktop, update it to {limit('docker-desktop-for-driver-555')} or later (in a Windows "
        "terminal, with the first command, or in its own settings). If Docker is installed inside WSL, update the "
        f"package nvidia-container-toolkit there to {limit('container-toolkit-for-wsl-driver-555')} or later. Then "
        "start the container again; the image and the driver can stay as they are.",
        (fixed("winget upgrade --id Docker.DockerDesktop"), fixed("nvidia-ctk --version")),
    )


_OLDER = Fault(
    "wsl-container-toolkit-too-old",
    "The container toolkit is too old for the Windows driver",
    impact="The container lacks the newer driver's libnvdxgdmal.so.1: nvidia-smi works inside, but CUDA returns error "
    "500.",
    remedy=_newer,
)


@check(
    _OLDER,
    layer=Layer.PLACE,
    rank=9,
    any_of=("measurements", "messages"),
    fix="Update Docker Desktop, or the package nvidia-container-toolkit inside WSL.",
    references=threads(
        "NVIDIA/nvidia-container-toolkit#520", "AbdBarho/stable-diffusion-webui-docker#694", "xorbitsai/inference#1704"
    ),
)
def wsl_container_toolkit_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Containers on Windows get all libraries that the Windows driver needs.

    Windows drivers from branch 555 on need libnvdxgdmal.so.1. A toolkit that does not know this library leaves it out,
    and CUDA returns error 500 ("named symbol not found").
    """
    if reported := _OLDER.reported(environment):
        yield reported
    elif passed(environment, "kernel"):
        yield ok("a framework computed on the GPU", evidence=[known(environment, "measurements", "kernel")])
    else:
        yield skip(ONLY_TOLD)
