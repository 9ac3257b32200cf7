"""A remedy as cells of a notebook: by its kernel's pip, or in one shell where a variable is set for the next."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.place import is_pip
from envkit.model import Environment

NOTEBOOKS = ("colab", "kaggle", "jupyter")
_SETS = regex(r"[A-Z_]{2,30}=")


def in_one_cell(given: Remedy) -> Remedy | None:
    """All commands in one shell, where one of them sets a variable for the next; None where each stands alone."""
    exported = any(step.shell.startswith("export ") for step in given.steps)  # for the process of the kernel itself
    if exported or not any(_SETS.match(step.shell) for step in given.steps):
        return None
    return Remedy(
        f"{given.advice} Put all lines into one cell, with the line that starts the program if there is one (variables "
        "end with the cell), and restart the runtime afterward; a new runtime contains only what its cells install.",
        (fixed("%%bash"), *given.steps),
    )


def in_hosted_cell(environment: Environment, given: Remedy, calls: object) -> Remedy:
    """A notebook's cell: %pip is the pip of its kernel, and ! starts every other program."""
    if together := in_one_cell(given):
        return together
    return Remedy(
        f"{given.advice} Put it in the notebook's install cell, replacing what that cell installs now, and restart "
        "the runtime: a new runtime contains only what that cell installs.",
        tuple(_in_cell(step) for step in given.steps),
    )


def in_kernel_cell(environment: Environment, given: Remedy, calls: object) -> Remedy:
    """%pip is the pip of the notebook's own kernel, which need not be the one of a shell."""
    return Remedy(
        f"{given.advice} Run it in a notebook cell, because the kernel may use a different Python than the shell, and "
        "restart the kernel afterward.",
        tuple(_in_cell(step) for step in given.steps),
    )


def _in_cell(step: Command) -> Command:
    if is_pip(step):
        return replace(step, words=("%pip", *step.words[3:]))
    return replace(step, shell=f"!{step.shell}") if step.shell.startswith("python ") else step


def with_variables(given: Remedy) -> Remedy:
    """The commands as lines of a cell where they set plain variables: a shell that ! starts ends with its line."""
    if not any(step.words[:1] == ("export",) for step in given.steps):
        return given
    steps = tuple(
        replace(step, words=("%env", *step.words[1:]))
        if step.words[:1] == ("export",)
        else replace(step, words=(), shell=f"!{step.line}")
        if step.words
        else step
        for step in given.steps
    )
    return Remedy(f"{given.advice} In a notebook, these are lines of a cell; restart the runtime before.", steps)
