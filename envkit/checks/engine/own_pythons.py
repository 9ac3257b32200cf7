"""The Python that a program brings along: a command that says python means another one."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

_OWN_PYTHONS = {  # of programs that provide one, in their folder: on Windows, elsewhere
    "comfyui-portable": (".\\python_embeded\\python.exe", ""),
    "webui": (".\\venv\\Scripts\\python.exe", "venv/bin/python"),
}


def by_own_python(environment: Environment, given: Remedy) -> Remedy:
    """With the Python of the program where a command would take whichever is first on PATH."""
    programs = managers(environment)
    of_windows, elsewhere = next((places for name, places in _OWN_PYTHONS.items() if name in programs), ("", ""))
    own = of_windows if on_windows(environment) else elsewhere if environment.system.os.known else ""
    steps = tuple(_called_by(own, step) for step in given.steps) if own else given.steps
    if steps == given.steps and "bundled-python" in programs and any(map(is_pip, given.steps)):
        return Remedy(
            f"{given.advice} Replace python with the path of the program's own python.exe, which is where its packages "
            "are.",
            given.steps,
        )
    if steps == given.steps:
        return given
    return Remedy(
        f"{given.advice} Run it in the program's directory, because the command names the Python there.", steps
    )


def _called_by(own: str, step: Command) -> Command:
    """The command with this Python, also where a shell line asks Python for a folder."""
    if is_pip(step):
        return replace(step, words=(own, *step.words[1:]))
    return replace(step, shell=step.shell.replace("$(python -c ", f"$({own} -c ")) if step.shell else step


def is_pip(step: Command) -> bool:
    """True for a call of pip by whichever python is first on PATH."""
    return step.words[:3] == ("python", "-m", "pip")
