"""What brings CUDA back after sleep, and keeps it from failing again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.engine.command import NAME, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_OF_OLLAMA = (
    "Stop Ollama (if you started it in a terminal, end it there) and whatever else uses CUDA, because the module "
    "cannot be unloaded while it is in use; reload it, and start Ollama again: its log then names the GPU. The command "
    "with tee and the one after it keep it from coming back, from the next start of the machine on."
)


_OF_A_CONTAINER = (
    "Ollama runs in a container, but the module is the host's. On the host, stop the container ({name}; docker ps "
    "shows its name) and whatever else uses CUDA, because the module cannot be unloaded while it is in use; reload it, "
    "and start the container again: its log then names the GPU. The command with tee and the one after it keep it from "
    "coming back, from the next start of the machine on."
)
_IN_USE = (
    "because the module cannot be unloaded while one has it open (for nvidia-persistenced, run sudo systemctl disable "
    "--now nvidia-persistenced; a laptop does not need it)"
)
_BY_ITSELF = (
    "Reloading nvidia_uvm helps, so have systemd do it after each sleep: the first two commands install a script for "
    "that, which works from the next sleep on. Before the machine sleeps, end the programs that the last command "
    f"lists, {_IN_USE}."
)
_RELOAD = (
    f"End the programs that the first command lists (notebooks and Python sessions, too), {_IN_USE}; then reload the "
    "module, and CUDA works again without a reboot. The command with tee and the one after it keep the problem from "
    "recurring, as of the next boot: the driver then saves video memory to /var/tmp, which needs that much free space."
)


def after_sleep(environment: Environment, matrix: Matrix) -> Remedy:
    """The module again; by itself after each sleep where the memory is preserved already, or where that is known."""
    if seen(environment, "cuda-broken-after-suspend", "detail-kept"):
        return remedy(
            environment,
            "The driver is already set to preserve video memory, and that does not help here: have systemd reload "
            "nvidia_uvm after each sleep. The first command installs a script that does this. Stop programs that use "
            "CUDA before the machine sleeps: while one is running, the module cannot be unloaded.",
            "uvm-after-sleep",
            "reload-uvm",
        )
    if seen(environment, "cuda-broken-after-suspend", "detail-reload-helps"):
        return remedy(environment, _BY_ITSELF, "uvm-after-sleep", "uvm-users")
    if managed_by(environment, "ollama"):
        return _of_ollama(environment)
    return remedy(environment, _RELOAD, "uvm-users", "reload-uvm", "keep-memory", "initramfs")


def _of_ollama(environment: Environment) -> Remedy:
    """It is stopped before and started after, where it runs."""
    if not (in_container(environment) or seen(environment, "cuda-broken-after-suspend", "detail-container")):
        given = remedy(environment, _OF_OLLAMA, "reload-uvm", "keep-memory")
        stop, start = fixed("sudo systemctl stop ollama"), fixed("sudo systemctl start ollama")
        return replace(given, steps=(stop, *given.steps, start))
    name = named(seen(environment, "cuda-broken-after-suspend", "detail-ollama-name"), "name") or "ollama"
    given = remedy(environment, _OF_A_CONTAINER.format(name=name), "reload-uvm", "keep-memory")
    stop, start = run("docker", "stop", NAME(name)), run("docker", "start", NAME(name))
    return replace(given, steps=(stop, *given.steps, start))
