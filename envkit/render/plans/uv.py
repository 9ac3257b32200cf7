"""Commands of uv: a new environment in the folder, and what goes into it."""

from __future__ import annotations

from envkit.documents.commands import pip_commands
from envkit.documents.packages import PackageList


def written(packages: PackageList) -> str:
    """The commands, one a line."""
    python = f" --python {packages.release}" if packages.release else ""
    commands = pip_commands(packages.calls, packages.platform, ("uv", "pip", "install"))
    return "\n".join([*packages.comments, f"uv venv{python}", *commands]) + "\n"
