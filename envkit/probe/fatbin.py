"""Which GPU code a binary carries, read from the headers of its fat binaries without any CUDA tool.

The section `.nv_fatbin` holds fat binaries one after the other: a 16-byte header (magic, version, header size, size of
what follows) and then entries, each a header that names its kind (PTX or machine code), its target and its size.
Only headers are read; the walk skips from one to the next, so that a library of a gigabyte takes milliseconds.
The layout was checked against nvcc 13.0's output for plain, `a` and `f` targets.
"""

from __future__ import annotations

import struct
import time
from collections import Counter

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability
from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing
from envkit.probe.elf import ElfFile

_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_MAGIC = 0xBA55ED50
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHI")  # kind, version, header size, payload size, …, architecture last
_FLAGS_OFFSET = 40
_PTX, _CUBIN = 1, 2
_ONLY_THIS_ARCHITECTURE, _THIS_FAMILY = 0x100000, 0x200000  # targets such as sm_90a and sm_100f
_READ = 4096  # one page: often holds the next header too
_SEARCH = 64  # bytes of padding that linkers leave between fat binaries


@record
class GpuCode:
    """The targets that the binary as a whole was built for. `complete` is False when the walk ended early.

    A target found in less than half as many fat binaries as the commonest one is left out: a few kernels of PyTorch
    are built for more targets (8.9, 9.0a) than the library that they are part of.
    """

    sass: frozenset[ComputeCapability]
    ptx: frozenset[ComputeCapability]
    fatbins: int
    complete: bool = True


def gpu_code(host: Host, elf: ElfFile, limit_s: float = 0.1, fatbins: int | None = None) -> Observed[GpuCode]:
    """The GPU code in `elf`; ABSENT when it carries none. Stops after `limit_s` seconds or `fatbins` fat binaries."""
    ranges = [elf.sections[name] for name in _SECTIONS if name in elf.sections]
    if not ranges:
        return missing(Problem.ABSENT, elf.path, "no GPU code in this file")
    walk = _Walk(host, elf.path, time.monotonic() + limit_s, fatbins)
    for offset, size in ranges:
        walk.section(offset, offset + size)
    if not walk.count:
        return missing(Problem.UNPARSABLE, elf.path, "a section for GPU code without any fat binary in it")
    code = GpuCode(walk.common(_CUBIN), walk.common(_PTX), walk.count, walk.complete)
    return found(code, f"{elf.path} (fat-binary headers)")


class _Walk:
    """One pass over a file's fat binaries."""

    def __init__(self, host: Host, path: str, deadline: float, most: int | None) -> None:
        self.host, self.path, self.deadline, self.most = host, path, deadline, most
        self.seen: Counter[tuple[int, ComputeCapability]] = Counter()
        self.count = 0
        self.complete = True
        self._buffer, self._start = b"", 0

    def common(self, kind: int) -> frozenset[ComputeCapability]:
        most = max(self.seen.values(), default=0)
        return frozenset(target for (each, target), times in self.seen.items() if each == kind and 2 * times >= most)

    def section(self, position: int, end: int) -> None:
        while position + _CONTAINER.size <= end:
            if self._spent():
                self.complete = False
                return
            header = self._bytes(position, _CONTAINER.size)
            if len(header) < _CONTAINER.size:
                return
            magic, _, header_size, size = _CONTAINER.unpack(header)
            if magic != _MAGIC:
                found_at = self._next_magic(position + 4)
                if found_at is None:
                    return
                position = found_at
                continue
            self.count += 1
            self._entries(position + header_size, min(position + header_size + size, end))
            position += header_size + size

    def _spent(self) -> bool:
        return time.monotonic() > self.deadline or (self.most is not None and self.count >= self.most)

    def _next_magic(self, position: int) -> int | None:
        index = self._bytes(position, _SEARCH).find(_MAGIC.to_bytes(4, "little"))
        return None if index < 0 else position + index

    def _entries(self, position: int, end: int) -> None:
        targets: set[tuple[int, ComputeCapability]] = set()
        while position + _FLAGS_OFFSET + 8 <= end:
            header = self._bytes(position, _FLAGS_OFFSET + 8)
            if len(header) < _FLAGS_OFFSET + 8:
                break
            kind, _, header_size, size, *_, architecture = _ENTRY.unpack_from(header)
            if kind not in (_PTX, _CUBIN) or header_size < _ENTRY.size:
                break
            flags = int.from_bytes(header[_FLAGS_OFFSET:], "little")
            targets.add((kind, _target(architecture, flags)))
            position += header_size + size
        self.seen.update(targets)

    def _bytes(self, position: int, size: int) -> bytes:
        start = position - self._start
        if not 0 <= start <= len(self._buffer) - size:
            observed = self.host.read_range(self.path, position, _READ)
            self._buffer, self._start = (observed.value or b""), position
            start = 0
        return self._buffer[start : start + size]


def _target(architecture: int, flags: int) -> ComputeCapability:
    specific = "a" if flags & _ONLY_THIS_ARCHITECTURE else "f" if flags & _THIS_FAMILY else ""
    return ComputeCapability(architecture // 10, architecture % 10, specific)
