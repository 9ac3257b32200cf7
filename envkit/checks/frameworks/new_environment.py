"""A new environment with another Python: how a program is started from it, and what else makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, REQUIREMENT, URL, VERSION, Command, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.changed_with import BUILD
from envkit.checks.frameworks.installs import capable_gpus
from envkit.checks.frameworks.left_out import left_out
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_ID = "python-no-wheel"
_MADE = ("uv", "venv")
_LAUNCHER = " Then start the program's launcher from that shell again; it finds PyTorch installed and goes on."


def of_web_ui(environment: Environment, python: Version) -> Remedy | None:
    """The Python that Stable Diffusion web UI is to make its own environment with; None for other programs."""
    if not managed_by(environment, "webui"):
        return None
    why = (
        "The web UI makes its own environment, in its directory venv, with the Python that it is given. Install "
        f"Python {python} next to the other one (first command), and rename venv in the web UI's directory (second "
        "command; only installed packages are in it, and they are downloaded again). "
    )
    if on_windows(environment):
        folder = f"Python{python.parts[0]}{python.parts[1]}"
        return Remedy(
            f"{why}In webui-user.bat, change the line set PYTHON= to set "
            f"PYTHON=%LOCALAPPDATA%\\Programs\\Python\\{folder}\\python.exe, and start webui-user.bat: it installs the "
            "PyTorch that it asked for.",
            (run("winget", "install", "-e", "--id", NAME(f"Python.Python.{python}")), fixed("ren venv venv-old")),
        )
    return Remedy(
        f'{why}In webui-user.sh, put the line python_cmd="python{python}", and start webui.sh: it installs the PyTorch '
        "that it asked for.",
        steps(environment, "web-ui-python", python=python),
    )


def for_processor(environment: Environment, matrix: Matrix, version: Version | None) -> Remedy | None:
    """PyTorch for the CPU, where no release is asked for and each one with this old GPU is for a bygone Python."""
    owns = [own for _, own in capable_gpus(environment, matrix)]
    if version is not None or not owns or not left_out(owns, matrix):
        return None
    from envkit.solver.other_words import PYTORCH_FOR_CPU

    rows = [row for row in matrix.builds("pytorch") if row.pythons]
    newest = max(rows, key=lambda row: row.version)
    if any(_runs(row, owns[0].numbers) and set(row.pythons) & set(newest.pythons) for row in rows):
        return None
    names = ", ".join(gpu.called for gpu, _ in capable_gpus(environment, matrix))
    python = newest.pythons[len(newest.pythons) // 2]  # neither the newest, which some packages lack, nor the oldest
    return Remedy(
        f"No PyTorch for a Python of today has code for {names} (compute capability {owns[0]}), so it will run on the "
        f"CPU: take the current release, {newest.version}, in its build for the CPU, and a Python that it has wheels "
        "for.",
        (
            run(*_MADE, "--python", VERSION(python)),
            run(
                *("uv", "pip", "install", REQUIREMENT(f"torch=={newest.version}")),
                *("--index-url", URL(PYTORCH_FOR_CPU)),
            ),
        ),
    )


def _runs(row: FrameworkBuild, own: tuple[int, ...]) -> bool:
    return any(target.numbers[0] == own[0] and target.numbers <= own for target in row.sass or ())


def in_new_environment(
    environment: Environment, matrix: Matrix, name: str, given: Remedy, messages: tuple[Message, ...]
) -> Remedy:
    """The remedy with another Python, where no build fits that only for the sake of the one that is there."""
    if any(step.words[:2] != ("envkit", "resolve") for step in given.steps):
        return given
    own = fresh(environment, matrix, name, BUILD, messages, any_python=True, native=True)
    made = next((step.words[3] for step in own.steps if step.words[:2] == _MADE), None)
    if made is None:
        return given
    advice = f"{own.advice} The Python that is there is too old or too new for it: the commands make a new environment "
    packages = f"with Python {made}; install the program's other packages there, too."
    return entered(environment, Remedy(f"{advice}{packages}", own.steps))


def entered(environment: Environment, given: Remedy) -> Remedy:
    """The remedy with how a program is started in the environment that its commands make."""
    made = any(step.words[:2] == _MADE for step in given.steps)
    activated = any("activate" in step.line for step in given.steps)
    if not made or activated or managed_by(environment, "poetry", "uv"):
        return given
    launcher = bool(seen(environment, _ID, "detail-launcher"))
    activate = r".venv\Scripts\activate" if on_windows(environment) else "source .venv/bin/activate"
    own = tuple(_with_pip(step) for step in given.steps) if launcher else given.steps
    return Remedy(
        f"{given.advice} uv downloads that Python (python -m pip install uv brings uv) and makes the environment in "
        f"the directory .venv: in each new shell, activate it ({activate}) before you start the program."
        f"{_LAUNCHER if launcher else ''}",
        own,
    )


def _with_pip(step: Command) -> Command:
    """The environment with a pip of its own, which a program's launcher calls."""
    return replace(step, words=(*_MADE, "--seed", *step.words[2:])) if step.words[:2] == _MADE else step
