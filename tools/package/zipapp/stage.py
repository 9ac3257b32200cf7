"""Lays out what the zipped application carries: envkit as its wheel has it, and the packages of the lock."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.package.zipapp.lock import LOCK, same_wheels

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
_BUILD_TOOLS = HERE / "build.lock"
_NOT_CARRIED = (  # what cannot be loaded from a zip or used at run time, and what describes the builder
    "*.so",
    "*.c",
    "*.pyi",
    "py.typed",
    "bin",
    "example.py",
    "*.dist-info/direct_url.json",
    "*.dist-info/INSTALLER",
    "*.dist-info/RECORD",
    "*.dist-info/REQUESTED",
    "*.dist-info/WHEEL",
    "*.dist-info/sboms",
)
_USE = "\nfrom _byte_code import use\n\nuse(__loader__.archive)\n"


def stage(folder: Path) -> None:
    """Fill the empty `folder`. Raises CalledProcessError where pip fails and LookupError for a missing license."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
    into = ["install", "-qq", "--no-compile", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *into, *same_wheels(), "--require-hashes", "-r", str(LOCK)], check=True)
    with tempfile.TemporaryDirectory() as made:
        variables = {**os.environ, "PIP_CONSTRAINT": str(_BUILD_TOOLS), "PIP_BUILD_CONSTRAINT": str(_BUILD_TOOLS)}
        subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "-w", made, str(ROOT)], check=True, env=variables)
        (wheel,) = Path(made).glob("*.whl")
        subprocess.run([*pip, *into, str(wheel)], check=True)
    for pattern in _NOT_CARRIED:
        for path in sorted(folder.rglob(pattern), reverse=True):
            _remove(path)
    (folder / "__main__.py").write_bytes((HERE / "start.py").read_bytes())
    (folder / "_byte_code.py").write_bytes((HERE / "byte_code.py").read_bytes())
    with open(folder / "envkit" / "__init__.py", "a", encoding="utf-8") as stream:
        stream.write(_USE)  # here, and not at the start alone: child processes import envkit too
    _add_missing_licenses(folder)


def _remove(path: Path) -> None:
    if path.is_dir():
        for inside in path.iterdir():
            _remove(inside)
        path.rmdir()
    else:
        path.unlink()


def licenses(distribution: Path) -> list[Path]:
    """The files of a `.dist-info` folder that hold license texts."""
    files = (path for path in distribution.rglob("*") if path.is_file())
    return [path for path in files if path.name.upper().startswith(("LICEN", "COPYING", "NOTICE"))]


def _add_missing_licenses(folder: Path) -> None:
    """A distribution without a license file has its license as the comment at the head of its one module."""
    for distribution in sorted(folder.glob("*.dist-info")):
        if licenses(distribution):
            continue
        modules = [path for path in folder.glob("*.py") if not path.name.startswith("_")]
        heads = [text for path in modules if "Redistribution" in (text := "".join(_head(path)))]
        if len(heads) != 1:
            raise LookupError(f"{distribution.name} contains no license text.")
        (distribution / "LICENSE").write_text(heads[0], encoding="utf-8")


def _head(path: Path) -> Iterator[str]:
    """The comment that a module begins with, without its marks."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            return
        yield line.strip("#").strip() + "\n"
