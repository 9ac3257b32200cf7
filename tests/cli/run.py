"""Runs the real program the way a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def envkit(
    *words: str, text: str = "", variables: Mapping[str, str] | None = None, cwd: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished program: exit status, stdout, stderr."""
    return subprocess.run(
        [sys.executable, "-m", "envkit", *words],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **(variables or {})},
        cwd=cwd,
        check=False,
        timeout=60,
    )
