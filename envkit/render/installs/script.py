"""The install script as it is."""

from __future__ import annotations

from envkit.install.model import Installation

USE = "Read it, then run{where}: sudo bash {file}"


def written(work: Installation, script: str) -> str:
    """The script."""
    return script
