"""A program's own Python, in which a build has to change: a server's, a package's folder, or an executable's."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import seen
from envkit.checks.frameworks.changed_with import frozen
from envkit.model import Environment

_NEWER = "arch-newer-than-build"
_OWN_PYTHON = (
    "The program's server has a Python of its own: run the commands with that one in place of python (venv in the "
    "server's folder, which the program's settings name: venv\\Scripts\\python.exe on Windows, venv/bin/python "
    "elsewhere), and restart it. An update of the program may bring a build for this GPU, too."
)


_OLD_CHECKPOINTS = (
    "Copy the program's folder first: if the newer torch does not suit its other packages, the copy still works, and "
    "only a newer edition of the program helps. If it then stops with `Weights only load failed`, put this line into "
    "the batch file that starts it: set TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 (only with models from sources that you "
    "trust)."
)


def with_own_python(environment: Environment, given: Remedy) -> Remedy:
    """With a word on whose Python it is, where a program installed its server itself."""
    if seen(environment, _NEWER, "detail-frozen"):
        return frozen(environment, given)
    if "runtime-folder" in managers(environment) and given.steps:
        return Remedy(f"{given.advice} {_OLD_CHECKPOINTS}", given.steps)
    by_pip = any(step.words[:3] == ("python", "-m", "pip") for step in given.steps)
    if not (by_pip and seen(environment, _NEWER, "detail-managed")):
        return given
    return Remedy(f"{given.advice} {_OWN_PYTHON}", given.steps)
