"""How a variable that a command sets for one shell is kept, where the remedy does not say so itself."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managers
from envkit.checks.engine.notebook_cells import NOTEBOOKS
from envkit.model import Environment

_KEPT = regex(r"export (?:LD_LIBRARY_PATH|LD_PRELOAD|PATH|XLA_FLAGS|(?:NCCL|GLOO)_[A-Z_]{2,40})=")  # used at each start
_OF_A_BUILD = regex(r"\bCUDA_HOME=|\bmake\b|\bpip install\b|TORCH_CUDA_ARCH_LIST")
_SAID = regex(r"bashrc|\bshells?\b|permanent|for good|job script|Dockerfile|\bENV\b|activate|cell\b|wherever")
_ELSEWHERE = (*NOTEBOOKS, "slurm", "pbs", "modules", "kubernetes", "nixos")


def words_on_lasting(environment: Environment, given: Remedy) -> Iterator[str]:
    """One sentence, where each start of the program needs a variable that is exported, and nothing says how long.

    What a build needs once is not kept.
    """
    lines = [step.line for step in given.steps]
    once = any(_OF_A_BUILD.search(line) for line in lines)
    if once or not any(_KEPT.match(line) for line in lines) or _SAID.search(given.advice):
        return
    if in_container(environment):
        yield "The exports apply to this shell; to keep them, set them by ENV in the Dockerfile."
    elif frozenset(_ELSEWHERE).isdisjoint(managers(environment)):
        yield "The exports apply to this shell; to keep them, add them to ~/.bashrc."
