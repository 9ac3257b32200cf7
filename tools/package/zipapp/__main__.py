"""Builds `dist/envkit.pyz`, the same bytes from the same sources with the same Pythons."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.package.zipapp.lock import oldest_python
from tools.package.zipapp.stage import HERE, ROOT, stage

TARGET = ROOT / "dist" / "envkit.pyz"
_SHEBANG = b"#!/usr/bin/env python3\n"
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
_NEWEST_MINOR = 20  # Pythons are looked for up to this one


def build(target: Path = TARGET) -> list[str]:
    """Write `target` and return the names of the Pythons whose byte code it holds."""
    with tempfile.TemporaryDirectory() as made:
        folder, codes = Path(made) / "stage", Path(made) / "codes"
        folder.mkdir()
        codes.mkdir()
        stage(folder)
        pythons = list(_compiled(folder, codes))
        for code in codes.iterdir():
            code.rename(folder / code.name)
        _pack(folder, target)
    return pythons


def _compiled(folder: Path, codes: Path) -> Iterator[str]:
    """The names of the supported Pythons found here, each after its byte code was written below `codes`."""
    variables = {**os.environ, "PYTHONHASHSEED": "0"}  # the order of a set's constants follows it
    for python in _pythons():
        tag = _said(python, "import sys; print(sys.implementation.cache_tag)")
        if tag and not (codes / f"{tag}.code").exists():
            command = [python, "-sS", str(HERE / "compile_code.py"), str(folder), str(codes / f"{tag}.code")]
            subprocess.run(command, check=True, env=variables)
            yield tag


def _pythons() -> Iterator[str]:
    yield sys.executable
    major, oldest = map(int, oldest_python().split("."))
    for minor in range(oldest, _NEWEST_MINOR):
        found = shutil.which(f"python{major}.{minor}")
        if found:
            yield found


def _said(python: str, code: str) -> str:
    """What the Python prints, '' for one that does not run (a version manager may leave a name that does nothing)."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _pack(folder: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as stream:
        stream.write(_SHEBANG)
        with zipfile.ZipFile(stream, "w", compresslevel=9) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _TIME)
                entry.external_attr = 0o100644 << 16
                # byte code is compressed by module, so that a start unpacks only what it uses
                entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".code" else zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    target.chmod(0o755)


if __name__ == "__main__":
    found = build()
    print(f"{TARGET} ({TARGET.stat().st_size / 1e6:.1f} MB, byte code for {', '.join(found)})")
