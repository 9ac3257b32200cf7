"""Asks the package index for every package behind some requirements, each with its hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from envkit.base.errors import EnvkitError, StepFailed
from envkit.base.versions import Version


def locked(lines: Sequence[str], python: Version, architecture: str) -> str:
    """A requirements file with the whole closure of `lines`, pinned and hashed for that Python on Linux.

    Uses uv, the one resolver that works for another Python than its own. Raises EnvkitError where there is none or
    the index has no answer.
    """
    command = [
        _uv(),
        "pip",
        "compile",
        "-",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--no-config",
        "--quiet",
        f"--python-version={python.release(2)}",
        f"--python-platform={architecture}-unknown-linux-gnu",
    ]
    text = "\n".join(lines) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = " ".join(done.stderr.split())
        raise StepFailed(f"--lock: uv could not resolve the packages (exit {done.returncode}): {told[:300]}")
    return done.stdout


def _uv() -> str:
    from envkit.host.programs import Programs

    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else Programs(os.environ).asked_for("uv")
    if found is None:
        raise EnvkitError("--lock needs uv, which is not on PATH.", "Install it: pip install uv")
    return found
