"""A virtual environment that cannot start its Python, so that nothing in it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.programs.told import told_by_program
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "venv-broken"
_TIED = (
    "A virtual environment holds no Python of its own: it starts the one that it was made with, at that place. It "
    "cannot be moved, copied, or repaired after that Python was removed, updated to another minor release, or never "
    "completely installed."
)


def _anew(environment: Environment, matrix: Matrix) -> Remedy:
    """A new one in its place; a program that makes its own does that by itself once the old one is gone."""
    if managed_by(environment, "webui"):
        return Remedy(
            f"{_TIED} Delete the folder venv in the program's folder (the command, run there); models and settings lie "
            "elsewhere and stay. Install the Python that the program's documentation names, and start the program as "
            "always: it makes the folder again and downloads its packages. "
            "If the error stays, set PYTHON in webui-user to the full path of that Python.",
            (fixed("rmdir /s /q venv") if on_windows(environment) else fixed("rm -rf venv"),),
        )
    if seen(environment, _ID, "ensurepip"):
        return Remedy(
            "Debian and Ubuntu keep what a virtual environment needs in a package of its own: install it (for a Python "
            "other than the system's, the one with its number in the name), then make the environment.",
            steps(environment, "venv-at-home"),
        )
    again = fixed("py -m venv NEW_FOLDER") if on_windows(environment) else fixed("python3 -m venv NEW_FOLDER")
    return Remedy(
        f"{_TIED} Make a new one with a Python that is there, and install the packages in it from the project's list; "
        "then delete the old folder. With uv, delete the folder .venv and run uv sync.",
        (again,),
    )


told_by_program(
    Fault(
        _ID,
        "The virtual environment is incomplete, or the Python that it starts is gone",
        impact="No program of the environment starts; the GPU is not involved.",
        remedy=_anew,
    ),
    doc="""The Python that a virtual environment was made with is still at its place.

    The environment only refers to it. When it is removed, upgraded, or under a home directory of another name, every
    program of the environment fails before its first line.
    """,
    rank=19,
    fix="Delete the environment, and make it again with a Python that is installed.",
    references=threads("AUTOMATIC1111/stable-diffusion-webui#8489", "AUTOMATIC1111/stable-diffusion-webui#2669"),
)
