"""Stand-ins for NVIDIA's archives of parts and the list that names them, in the form that the real ones have."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from envkit.base.versions import Version
from envkit.tables.parts import part_list, parts_of
from tests.install.standins import NVCC, StandIn, described, library
from tests.programs import require

PLATFORM = "linux-x86_64"


def archives(folder: Path, cuda: str, names: tuple[str, ...], trees: Mapping[str, Path] | None = None) -> StandIn:
    """Lays the archives of these parts, and the list, into `folder`; gives the list. `trees`: what to pack instead."""
    require("xz")  # to pack them here, and to unpack them in the script
    rows = parts_of(Version.parse(cuda), "x86_64")
    listed: dict[str, object] = {"release_label": cuda, "release_product": "cuda"}
    for name in names:
        entry = rows[name].entry
        top = folder / f"work-{cuda}" / f"{entry}-{PLATFORM}-{cuda}-archive"
        if trees is not None:
            shutil.copytree(trees[name], top, symlinks=True)
        else:
            _fill(top, name, rows[name].proof, cuda)
        (top / "LICENSE").write_text("CUDA Toolkit\n")
        file = folder / f"{top.name}.tar.xz"
        subprocess.run(["tar", "-C", str(top.parent), "-I", "xz -0", "-cf", str(file), top.name], check=True)
        listed[entry] = _entry(entry, described(file))
    row = part_list(Version.parse(cuda))
    assert row is not None
    (folder / row.name).write_text(json.dumps(listed, indent=4) + "\n")
    return described(folder / row.name)


def _entry(entry: str, file: StandIn) -> dict[str, object]:
    """As NVIDIA writes one: other platforms are before and behind, and have the same keys."""
    other = {"relative_path": f"{entry}/other/other.tar.xz", "sha256": "0" * 64, "md5": "0" * 32, "size": "1"}
    own = {"relative_path": f"{entry}/{PLATFORM}/{file.name}", "sha256": file.sha256, "md5": file.md5, "size": "2"}
    return {
        "name": f"CUDA, {entry}",
        "license": "CUDA Toolkit",
        "version": "1.2.3",
        "linux-sbsa": other,
        PLATFORM: own,
        "windows-x86_64": other,
    }


def _fill(top: Path, name: str, proof: tuple[str, ...], cuda: str) -> None:
    """The files that show that a part is there: a nvcc that answers, libraries that load, empty headers."""
    release = ".".join(cuda.split(".")[:2])
    for path in proof:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path == "bin/nvcc":
            file.write_text(NVCC.format(release=release, version=f"{release}.1", targets="sm_90 sm_121"))
            file.chmod(0o755)
        elif path.startswith("lib/lib") and path.endswith(".so"):
            library(file.parent, file.name[3:-3], release, ())
        else:
            file.write_text("// stand-in\n")
    (top / "pkg-config").mkdir()
    (top / f"pkg-config/{name}.pc").write_text(f"cudaroot=/usr/local/cuda-{release}\nlibdir=${{cudaroot}}/lib\n")
