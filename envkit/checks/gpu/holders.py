"""What to do where a GPU's memory is taken: by the program itself, or by the rest of one that is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import NUMBER, PROCESS, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LESS = (
    "Reduce the memory use of the program: use a smaller batch, a lower precision, gradient checkpointing (when "
    "training), shorter or smaller inputs, or a smaller model; check which of these the program offers. If nvidia-smi "
    "shows that another process holds much of the memory, stop that one first."
)


def less_memory(environment: Environment, matrix: Matrix) -> Remedy:
    """What a program can do without; first the rest of an earlier run, where the text lists it."""
    held = seen(environment, "gpu-memory-held-by-lost-process", "detail-fuser")
    pids = sorted({message.values["pid"] for message in held if message.values.get("pid")})
    if not pids:
        return remedy(environment, _LESS, "who-uses")
    return Remedy(
        "fuser lists processes that hold the card and that nvidia-smi does not show: if they are the rest of an "
        "earlier run of yours (ps shows how old they are), end all that fuser lists; the memory is free at once, and "
        "the program then has the whole card. Other users' processes are for their owners or the administrator.",
        (run("kill", *map(NUMBER, pids)), fixed("sudo fuser -v /dev/nvidia0"), fixed("nvidia-smi")),
    )


def end_holders(environment: Environment, matrix: Matrix) -> Remedy:
    """Whoever has the device open is listed by fuser, whatever nvidia-smi shows."""
    given = remedy(
        environment,
        "The first command lists every process that has the device open, including those that nvidia-smi does not "
        "show. Kill the ones that are yours (PID is the process ID; they are usually child processes of a killed "
        "training run); the memory is freed immediately. Run it on the host, because a container does not show "
        "processes outside it; leave other users' processes to the administrator. If the list is empty, only a reset "
        "or a reboot frees the memory.",
        "who-holds",
    )
    return Remedy(given.advice, (*given.steps, run("kill", PROCESS)))
