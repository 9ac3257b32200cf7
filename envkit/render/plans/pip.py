"""Commands of pip, for an environment that is active."""

from __future__ import annotations

from envkit.documents.commands import pip_commands
from envkit.documents.packages import PackageList


def written(packages: PackageList) -> str:
    """The commands, one a line."""
    python = [f"# In an environment with Python {packages.release}."] if packages.release else []
    return "\n".join([*packages.comments, *python, *pip_commands(packages.calls, packages.platform)]) + "\n"
