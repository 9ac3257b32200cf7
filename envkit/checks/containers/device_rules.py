"""Containers that may not open the GPU, because NVIDIA's hook was told to leave the engine's device rules alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, ok, skip
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LEFT_ALONE = Fault(
    "no-cgroups-with-rootful-engine",
    "NVIDIA's hook leaves device rules alone (no-cgroups = true), but the engine runs as root",
    impact="The container has the driver's files, but the kernel does not let it open the GPU.",
    remedy=(
        "no-cgroups = true is for rootless engines only. Set it to false in /etc/nvidia-container-runtime/config.toml, "
        "restart Docker, and start the container again. If a rootless engine on this machine needs it, use CDI there."
    ),
    steps=(
        fixed("sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=false --in-place"),
        fixed("sudo systemctl restart docker"),
    ),
)


@check(
    _LEFT_ALONE,
    layer=Layer.PLACE,
    rank=6,
    any_of=("containers.toolkit_config", "messages"),
    fix="Set no-cgroups = false in the NVIDIA Container Toolkit's configuration, and restart the engine.",
    references=threads("NVIDIA/nvidia-container-toolkit#85", "microsoft/WSL#9962"),
)
def no_cgroups_with_rootful_engine(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """With an engine that runs as root, NVIDIA's hook adds the device rules that let a container open the GPU.

    `no-cgroups = true` turns that off, for rootless engines. With other engines, NVML then reports "Unknown "
    "Error" inside the container, or that the operating system blocks the GPU.
    """
    config = environment.containers.toolkit_config
    if reported := _LEFT_ALONE.reported(environment):
        yield reported
    elif config.known and not any(key.endswith("no-cgroups") and "true" in word for key, word in config.get().items()):
        yield ok("NVIDIA's hook sets device rules", evidence=[known(environment, "containers.toolkit_config", "")])
    else:
        yield skip(ONLY_TOLD)
