"""A variable that the program's own code sets: what a shell sets is overwritten."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
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
