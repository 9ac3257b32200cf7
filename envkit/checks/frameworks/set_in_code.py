"""Variables that something else than the shell sets: the program's own code, or a scheduler for its containers."""

from __future__ import annotations

from envkit.checks.engine.command import export, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import QUEUES, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.model import Environment


def set_in_code(environment: Environment, single: bool) -> Remedy:
    """The remedy for CUDA_VISIBLE_DEVICES that a line of Python sets; `single`: the machine has one GPU."""
    where = (
        'The program\'s own code sets CUDA_VISIBLE_DEVICES (os.environ["CUDA_VISIBLE_DEVICES"] = ...), which overrides '
        "what the shell sets: "
    )
    if managed_by(environment, "slurm"):
        return Remedy(
            f"{where}delete that line. Slurm sets the variable for each job, whose own GPUs are numbered from 0. Run "
            "the command in the program's directory: it prints the file and the line.",
            steps(environment, "find-visible"),
        )
    if on_windows(environment):
        number = "0, the only GPU" if single else "the number of a GPU that nvidia-smi -L lists"
        return Remedy(
            f"{where}change the number in that line to {number}. Run the command in the program's directory: it prints "
            "the file and the line.",
            (fixed("findstr /s /n CUDA_VISIBLE_DEVICES *.py"),),
        )
    if not single:
        return Remedy(
            f"{where}change the numbers in that line to those that nvidia-smi -L lists. Run the command in the "
            "program's directory: it prints the file and the line.",
            steps(environment, "find-visible"),
        )
    return Remedy(
        f"{where}change the number in that line to 0, the only GPU. Run the commands in the program's directory: the "
        "first prints the line, the second changes it and keeps the file as it was with .bak at the end of its name.",
        (*steps(environment, "find-visible"), *steps(environment, "first-visible")),
    )


_OF_ENGINE = "NVIDIA_VISIBLE_DEVICES"


def title_for_container(environment: Environment) -> str:
    """What is wrong where the container's runtime says so; '' for any other message."""
    refused = seen(environment, "cuda-visible-devices-invalid", "container-device")
    return f"{_OF_ENGINE} names a GPU that does not exist here" if refused else ""


def for_container(environment: Environment) -> Remedy | None:
    """The remedy where the container's runtime looks for a GPU that is not there; None for any other message."""
    if not seen(environment, "cuda-visible-devices-invalid", "container-device"):
        return None
    value = named(seen(environment, "cuda-visible-devices-invalid", "detail-of-engine"), "value")
    told = f"{_OF_ENGINE}={value}" if value else f"{_OF_ENGINE} or --gpus"
    if managed_by(environment, *QUEUES):
        return Remedy(
            f"{told} has the node's numbers, but in a job only its own GPUs are visible, and they are numbered from 0: "
            "nvidia-container-cli finds none with the higher numbers. Let it take all GPUs that the job sees, because "
            "the scheduler's cgroup is the limit already: set the variable in the job script, before the container "
            "starts, or once for all in what exports it (the scheduler's prolog). nvidia-smi -L in the container then "
            "lists the job's GPUs. CUDA_VISIBLE_DEVICES is right as it is.",
            (export(_OF_ENGINE, "all"), fixed("nvidia-smi -L")),
        )
    return Remedy(
        f"{told} asks the container's runtime for a GPU that the host does not have: use the numbers or the UUIDs that "
        "nvidia-smi -L prints on the host (docker run --gpus device=0), or all. Then create the container again.",
        (fixed("nvidia-smi -L"),),
    )
