"""What brings CUDA back after sleep, and keeps it from failing again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_OF_OLLAMA = (
    "Stop Ollama (if you started it in a terminal, end it there) and whatever else uses CUDA, because the module "
    "cannot be unloaded while it is in use; reload it, and start Ollama again: its log then names the GPU. The command "
    "with tee and the one after it keep it from coming back, from the next start of the machine on."
)


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
    if managed_by(environment, "ollama"):
        given = remedy(environment, _OF_OLLAMA, "reload-uvm", "keep-memory")
        stop, start = fixed("sudo systemctl stop ollama"), fixed("sudo systemctl start ollama")
        return replace(given, steps=(stop, *given.steps, start))
    return remedy(
        environment,
        "Reload the module while no program is using the GPU. To prevent this, preserve video memory across sleep.",
        "reload-uvm",
        "keep-memory",
    )
