"""Other Pythons of this machine: those on PATH and those that pyenv keeps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def kept_pythons(*versions: str) -> list[tuple[str, Path]]:
    """Those of `versions` (`3.9`) that start, each with its version."""
    kept = [(name, path) for name in versions for path in Path.home().glob(f".pyenv/versions/{name}.*/bin/python")]
    found = [(name, Path(path)) for name in versions if (path := shutil.which(f"python{name}"))]
    return [
        (name, python)
        for name, python in (*kept, *found)
        if subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0
    ]
