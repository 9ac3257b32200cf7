"""Which commands to ask a person for, when what is told is not enough to judge."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment, Problem
from envkit.model.paths import fact

_MOST = 3  # more than these nobody pastes


@record
class Asked:
    """A command and a fact that its output tells."""

    command: str
    tells: str
    on_windows: bool = True


COMMANDS = (  # the most telling first: driver and GPUs decide most checks, then the framework, then the kernel's word
    Asked("nvidia-smi", "gpus"),
    Asked("python -m torch.utils.collect_env", "pythons"),
    Asked("sudo dmesg | grep -iE 'nvrm|nvidia|nouveau|xid'", "kernel.log", on_windows=False),
    Asked("env | grep -E 'CUDA|NVIDIA|NCCL|LD_LIBRARY_PATH'", "variables", on_windows=False),
    Asked("nvcc --version", "nvcc"),
    Asked("docker info", "containers.docker"),
)


def commands_to_paste(environment: Environment) -> tuple[str, ...]:
    """The commands that tell what nobody told yet, the most telling first."""
    here = [asked for asked in COMMANDS if asked.on_windows or not on_windows(environment)]
    missing = [
        asked for asked in here if fact(environment, asked.tells).problem in (Problem.NOT_LOOKED, Problem.DENIED)
    ]
    return tuple(asked.command for asked in missing[:_MOST])
