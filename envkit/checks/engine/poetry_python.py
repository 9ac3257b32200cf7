"""Another Python for a project of Poetry: its own environment, and the packages that its lock file lists."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.command import VERSION, run
from envkit.checks.engine.findings import Remedy


def by_poetry(given: Remedy) -> Remedy | None:
    """The remedy in place of one that makes an environment of uv for a Python; None where it makes none."""
    made = (step.words[3] for step in given.steps if step.words[:3] == ("uv", "venv", "--python"))
    python = Version.find(next(made, ""))
    if python is None or len(python.parts) < 2:
        return None
    following = f"{python.parts[0]}.{python.parts[1] + 1}"
    return Remedy(
        f"{given.advice} Poetry makes the environment of this project: tell it which Python to use (it has to be "
        "installed), and let it install what its lock file lists. So that it does not choose a newer one again, write "
        f'requires-python = ">={python},<{following}" into pyproject.toml (under [tool.poetry.dependencies]: python = '
        "with the same range), and run poetry lock.",
        (run("poetry", "env", "use", VERSION(python)), run("poetry", "install")),
    )
