"""Small real binaries: shared libraries built with gcc, fat binaries written by hand or by nvcc."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.programs import require

PTX, CUBIN = 1, 2
ONLY_THIS, FAMILY = 0x100000, 0x200000


def library(
    path: Path, *, needs: Iterable[Path] = (), search: str = "", runpath: bool = False, section: bytes | None = None
) -> Path:
    """A shared library named like its file, linked to `needs`, with a DT_RPATH or DT_RUNPATH and GPU code."""
    require("gcc")
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-nostdlib", "-o", str(path), "-x", "c", "/dev/null", f"-Wl,-soname,{path.name}"]
    if section is not None:
        raw = path.with_suffix(".fatbin")
        raw.write_bytes(section)
        source = path.with_suffix(".s")
        source.write_text(f'.section .nv_fatbin,"a"\n.balign 8\n.incbin "{raw}"\n')
        command[command.index("-x") :] = ["-x", "assembler", str(source), f"-Wl,-soname,{path.name}"]
    if search:
        tags = "--enable-new-dtags" if runpath else "--disable-new-dtags"
        command += [f"-Wl,{tags}", f"-Wl,-rpath,{search}"]
    command += ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", "-x", "none"]
    for need in needs:
        command += [f"-L{need.parent}", f"-l:{need.name}", f"-Wl,-rpath-link,{need.parent}"]
    subprocess.run(command, check=True, capture_output=True)
    return path


def entry(kind: int, architecture: int, body: bytes, flags: int = 0, header_size: int = 64) -> bytes:
    """One entry of a fat binary: its header, then its code."""
    header = struct.pack("<HHIQIIHHI", kind, 0x101, header_size, len(body), 0, 0, 0, 0, architecture)
    header += struct.pack("<IIQ", 0, 0, flags)
    return header.ljust(header_size, b"\0") + body


def fatbin(*entries: bytes) -> bytes:
    """One fat binary, padded as linkers do."""
    payload = b"".join(entries)
    whole = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(payload)) + payload
    return whole + b"\0" * (-len(whole) % 8)
