"""What brings CUDA back after sleep, and keeps it from failing again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def after_sleep(environment: Environment, matrix: Matrix) -> Remedy:
    """The module again; by itself after each sleep where the memory is preserved already."""
    if seen(environment, "cuda-broken-after-suspend", "detail-kept"):
        return remedy(
            environment,
            "The driver is already set to preserve video memory, and that does not help here: have systemd reload "
            "nvidia_uvm after each sleep. The first command installs a script that does this. Stop programs that use "
            "CUDA before the machine sleeps: while one is running, the module cannot be unloaded.",
            "uvm-after-sleep",
            "reload-uvm",
        )
    return remedy(
        environment,
        "Reload the module while no program is using the GPU. To prevent this, preserve video memory across sleep.",
        "reload-uvm",
        "keep-memory",
    )
