"""What a framework shows when it has no GPU, where nothing tells why."""

from __future__ import annotations

from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Status
from envkit.checks.engine.references import threads
from envkit.checks.programs.blind_programs import ask_program
from envkit.checks.programs.told import told_by_program

told_by_program(
    Fault(
        "framework-sees-no-gpu",
        "The framework cannot see the GPU",
        impact="The program runs on the CPU, or stops. Nothing else here shows the reason.",
        remedy=ask_program,
        status=Status.WARN,
    ),
    doc="""The framework sees the GPU.

    Many faults look like this: a build without CUDA, a driver that is missing or too old, a container
    without GPUs. Facts or other messages show which one it is.
    """,
    rank=30,
    fix="Run nvidia-smi and the framework's own check where the program runs; their output shows the cause.",
    references=threads("pytorch/pytorch#99137", "pytorch/pytorch#16936"),
    symptom=True,
    explained_by=("tf-finds-no-driver",),
    of_missing_gpu=True,
)
