"""The loader's own index, /etc/ld.so.cache: which file the dynamic linker takes for a library name."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from envkit.host.base import Host

PATH = "/etc/ld.so.cache"
_NEW_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER_SIZE = 48
_LONGEST_PATH = 4096
_ENTRY = struct.Struct("<iIIIQ")  # flags, offset of the name, offset of the path, os version, hardware abilities
_MACHINE_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}  # a 64-bit ELF library of glibc on that machine


def ld_cache(host: Host, architecture: str) -> Mapping[str, str]:
    """Library name -> the first file the cache gives for it, for this architecture; empty when there is no cache."""
    data = host.read_bytes(PATH, 16_000_000).value or b""
    start = data.find(_NEW_MAGIC)
    if start < 0 or len(data) < start + _HEADER_SIZE:
        return {}
    wanted = _MACHINE_FLAGS.get(architecture)
    first = start + _HEADER_SIZE
    count = min(int.from_bytes(data[start + 20 : start + 24], "little"), (len(data) - first) // _ENTRY.size)
    files: dict[str, str] = {}
    for flags, name, path, _, abilities in _ENTRY.iter_unpack(data[first : first + count * _ENTRY.size]):
        if (wanted is None or flags & 0xFFFF == wanted) and not abilities:
            files.setdefault(_text(data, start + name), _text(data, start + path))
    return files


def _text(data: bytes, position: int) -> str:
    end = data.find(b"\0", position, position + _LONGEST_PATH)
    return data[position : max(end, position)].decode("utf-8", "replace")
