"""Builds `dist/envkit.pyz`: envkit and everything it needs in one file, where nothing may be installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "build" / "zipapp"
TARGET = ROOT / "dist" / "envkit.pyz"


def build() -> Path:
    """The path of the built file. Compiled extensions are left out: they cannot be loaded from a zip."""
    shutil.rmtree(STAGE, ignore_errors=True)
    TARGET.parent.mkdir(exist_ok=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(STAGE), str(ROOT)]
    subprocess.run(pip, check=True)
    for extension in (*STAGE.rglob("*.so"), *STAGE.rglob("*.pyi")):
        extension.unlink()
    shutil.rmtree(STAGE / "bin", ignore_errors=True)
    zipapp.create_archive(
        STAGE, TARGET, interpreter="/usr/bin/env python3", main="envkit.__main__:main", compressed=True
    )
    return TARGET


if __name__ == "__main__":
    made = build()
    print(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")
