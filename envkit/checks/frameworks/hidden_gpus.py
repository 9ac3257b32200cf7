"""GPUs that are hidden from a program: by a variable of the shell, or by what started the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix


def shown_again(environment: Environment, matrix: Matrix) -> Remedy:
    """By hand, except where something that starts tasks set the variable for a reason."""
    return for_task(environment) or Remedy(
        "Look at CUDA_VISIBLE_DEVICES where the program runs, and unset it, unless a scheduler set it for this job.",
        (fixed("printenv CUDA_VISIBLE_DEVICES"), fixed("unset CUDA_VISIBLE_DEVICES")),
    )


def for_task(environment: Environment) -> Remedy | None:
    """SkyPilot gives each task the GPUs that the task asks for, whatever the cluster has."""
    if not seen(environment, "cuda-visible-devices-empty", "detail-skypilot"):
        return None
    return Remedy(
        "SkyPilot hides every GPU from a task that requests none, even on a cluster that was created with one; ssh "
        "has no such limit. Request it in the task: in its YAML, at the top level, put resources: and, indented "
        "below it, accelerators: NAME:1 (the name as in sky status), or give --gpus NAME:1 to sky launch and sky "
        "exec. Do not unset CUDA_VISIBLE_DEVICES instead: SkyPilot would then give the same GPU to another task."
    )
