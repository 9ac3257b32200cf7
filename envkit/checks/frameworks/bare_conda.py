"""A conda environment that was made without a Python of its own."""

from __future__ import annotations

from envkit.checks.engine.command import CONDA_SPEC, NAME, PACKAGE, REQUIREMENT, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.installs import first_python, installs
from envkit.model import Environment


def without_python(environment: Environment) -> Remedy | None:
    """The remedy where the text shows how the environment was made, without Python; otherwise None."""
    told = named(seen(environment, "pip-belongs-to-other-python", "detail-conda-bare"), "env")
    if told is None:
        return None
    own = first_python(environment).version
    items = (item.framework.package for item in installs(environment))
    package = next((line for line in items if "==" in line), "")
    wanted = (REQUIREMENT(package),) if package else (PACKAGE,)
    as_before = "" if package else " (PACKAGE with its version, as before)"
    python = f"python={own.release(2)}" if own is not None else "python"
    return Remedy(
        f"The conda environment {told} was made without a Python, so python and pip in it are those of another "
        "environment, which finds none of its libraries. Give it a Python of its own, activate it again, and "
        f"install the packages there{as_before}.",
        (
            run("conda", "install", "-y", "-n", NAME(told), CONDA_SPEC(python), "pip"),
            run(
                "conda",
                "run",
                "-n",
                NAME(told),
                "python",
                "-m",
                "pip",
                "install",
                *wanted,
            ),
        ),
    )
