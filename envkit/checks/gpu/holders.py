"""What to do where a GPU's memory is taken: by the program itself, or by the rest of one that is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import NUMBER, PROCESS, export, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import gpus_of
from envkit.model import Environment, Gpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_HELD = "gpu-memory-held-by-lost-process"
_FULL, _IDLE = 0.8, 0.05  # of a GPU's memory
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
        return _another_gpu(environment) or remedy(environment, _LESS, "who-uses")
    return Remedy(
        "fuser lists processes that hold the card and that nvidia-smi does not show: if they are the rest of an "
        "earlier run of yours (ps shows how old they are), end all that fuser lists; the memory is free at once, and "
        "the program then has the whole card. Other users' processes are for their owners or the administrator.",
        (run("kill", *map(NUMBER, pids)), fixed("sudo fuser -v /dev/nvidia0"), fixed("nvidia-smi")),
    )


def _another_gpu(environment: Environment) -> Remedy | None:
    """For a GPU that listed processes fill while another one is idle; None where it is not so."""
    measured = [gpu for gpu in gpus_of(environment) if gpu.memory_bytes and gpu.memory_used_bytes is not None]
    full = [gpu for gpu in measured if gpu.processes and _share(gpu) >= _FULL]
    idle = [gpu for gpu in measured if not gpu.processes and not gpu.display_active and _share(gpu) <= _IDLE]
    if len(full) != 1 or not idle:
        return None
    holders = series([str(pid) for pid in full[0].processes or ()])
    return Remedy(
        f"GPU {full[0].index} is full: nvidia-smi lists process {holders} on it. If that is not this program, it "
        f"leaves too little memory, however small the model is. GPU {idle[0].index} is not in use: let the program see "
        "only that one, which it then calls device 0 (cuda:0), or wait until the other process has ended.",
        (export("CUDA_VISIBLE_DEVICES", str(idle[0].index)),),
    )


def _share(gpu: Gpu) -> float:
    return (gpu.memory_used_bytes or 0) / (gpu.memory_bytes or 1)


def _in_somebodys_container(environment: Environment) -> Remedy | None:
    """For a container on a node that others share: the process is outside, where only administrators see it."""
    if not seen(environment, _HELD, "detail-node"):
        return None
    return Remedy(
        "Nothing in your container holds this memory: a process outside it does, most likely left over from another "
        "user's run. It cannot be seen or ended from inside, and a smaller batch does not help. Send the "
        "administrators the node, the GPU's number, and what nvidia-smi shows; on the host, sudo fuser -v /dev/nvidia* "
        "lists the process, and kill ends it. Until then, ask for another node or GPU.",
        (fixed("nvidia-smi --query-gpu=index,uuid,memory.used,memory.total --format=csv"),),
    )


def end_holders(environment: Environment, matrix: Matrix) -> Remedy:
    """Whoever has the device open is listed by fuser, whatever nvidia-smi shows."""
    if inside := _in_somebodys_container(environment):
        return inside
    pids = sorted({each.values["pid"] for each in seen(environment, _HELD, "detail-lsof") if each.values.get("pid")})
    if pids:
        return Remedy(
            "The list shows the processes that hold the card, although nvidia-smi does not: they are left over from "
            "earlier runs (one stopped with Ctrl-Z is only suspended, and only kill -9 ends it). If they are yours, "
            "kill them, without root and without a reboot; the memory is free at once, and nvidia-smi shows it.",
            (run("kill", "-9", *map(NUMBER, pids)), fixed("nvidia-smi")),
        )
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
