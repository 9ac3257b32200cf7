"""Packages of the home directory that are found before those of the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import PYTHON, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import steps
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

LEAVE_HOME_OUT = fixed("export PYTHONNOUSERSITE=1")
_LAUNCH = fixed("python -m torch.distributed.run")


def without_home(environment: Environment, matrix: Matrix) -> Remedy:
    """A torchrun of the home directory has a Python of its own, so that leaving the packages out does not help."""
    if seen(environment, "user-site-shadows-env", "luarocks"):
        return Remedy(
            "luarocks installed an older copy of this module in your home directory (--local), and Lua loads it before "
            "that of the torch installation. Move the directory out of the way (everything that was installed with "
            "--local goes with it), and try again; if that helps, delete the moved one.",
            steps(environment, "without-luarocks"),
        )
    other = PYTHON(named(seen(environment, "user-site-shadows-env", "detail-torchrun"), "python"))
    if not isinstance(other, str):
        return Remedy("Disable the user site directory, or uninstall the copies there.", (LEAVE_HOME_OUT,))
    return Remedy(
        "The torchrun in ~/.local/bin comes first on PATH and starts its own Python, not the environment's. Start "
        "the launcher as a module, with the same options and script as torchrun. To get rid of the copy in your home "
        f"directory, have that Python remove it: {other} -m pip uninstall torch.",
        (fixed("uv run python -m torch.distributed.run") if "uv" in managers(environment) else _LAUNCH,),
    )
