"""The steps that provide an image's Python packages, and runs of one kind joined into one layer."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.image.options import ImageOptions
from envkit.image.parts import Run, Step
from envkit.image.project import project_packages, requirements_step, with_build_tools
from envkit.image.python import VENV, pip_run
from envkit.image.system import install
from envkit.solver.model import Choice
from envkit.solver.pip_calls import PipInstall


def merged(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with neighboring runs of the same kind in one layer; those with a note stay apart."""
    result: list[Step] = []
    for step in steps:
        last = result[-1] if result else None
        if isinstance(step, Run) and isinstance(last, Run) and _alike(step, last):
            result[-1] = replace(last, commands=last.commands + step.commands)
        else:
            result.append(step)
    return tuple(result)


def _alike(one: Run, other: Run) -> bool:
    plain = not (
        one.ignore or other.ignore or one.why or other.why or one.bind or other.bind or one.taken or other.taken
    )
    return plain and one.caches == other.caches and one.secrets == other.secrets


def own_steps(calls: Iterable[PipInstall], options: ImageOptions, mirrors: Mirrors, choice: Choice) -> tuple[Step, ...]:
    """The user's own packages on top of an image that already holds everything else."""
    steps: list[Step | None] = []
    names = (*options.apt, *(project_packages(options.project, choice.os, choice) if choice.os is not None else ()))
    if names and choice.os is not None:
        steps.append(install(choice.os, names, mirrors))
    steps += [pip_step(call, options) for call in calls]
    if options.requirements:
        steps.append(requirements_step(options, choice, mirrors))
    return tuple(step for step in steps if step is not None)


# Libraries that a framework looks for in the system, though they came as wheels.
WHEEL_LIBRARIES = Run(
    (
        f"find {VENV}/lib -path '*/site-packages/nvidia/*' -name lib -type d > /etc/ld.so.conf.d/wheels.conf",
        "ldconfig",
    )
)


def pip_words(call: PipInstall) -> str:
    """The words after `pip install`, quoted for a shell, requirements on lines of their own."""
    options = (f'{option} "{address}"' for option, address in call.settings)
    return "\n".join([*options, *(f'"{line}"' for line in call.requirements)])


def pip_step(call: PipInstall, options: ImageOptions) -> Run:
    """One call of pip; one that provides the user's own packages says so."""
    own = bool(options.pip) and all(line in call.requirements for line in options.pip)
    why = "Your own packages, in a separate layer because they change most often; pinned only if you pinned them."
    command = f"python -m pip install\n{pip_words(call)}"
    commands = with_build_tools(options.project, command)
    return pip_run(commands, ignore=("DL3013", "DL3059"), why=why) if own else pip_run((command,))


def locked_step(file: str) -> Run:
    """What a file pins, with its hashes."""
    target = "/tmp/requirements.lock"
    command = f"python -m pip install --require-hashes --no-deps --requirement {target}"
    why = "Every package, with the hashes that the index had when the file was written."
    return pip_run((command,), bind=(f"{file}:{target}",), ignore=("DL3059",), why=why)
