"""Programs that some tests need and a newcomer may lack: a compiler, shells, man."""

from __future__ import annotations

import os
import shutil

import pytest

REASON = "not installed: "  # what a skipped test says before the program's name


def require(program: str) -> None:
    """Skips the test where `program` is missing, and fails it in the gate (CI), which installs all of them."""
    if shutil.which(program) is not None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{REASON}{program}, which the gate has to install")
    pytest.skip(f"{REASON}{program}")
