"""The processes on a GPU, read as the driver wrote them.

The entries of this list have had 16, 24 and 32 bytes; some drivers changed the size without changing the call's name,
and so did some releases of pynvml. With the wrong size every entry but the first is garbage, and garbage looks like
processes that are gone. So the list is asked for with untouched bytes after it, which tell how far the driver wrote.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

Module: TypeAlias = Any  # pynvml, which has no types
Handle: TypeAlias = Any  # a device of pynvml
Function: TypeAlias = Any  # of a C library

_ENTRY_BYTES = (16, 24, 32)
_UNTOUCHED = b"\x5a"
_PID_BYTES = 4
_ROOM = 64  # entries at first
_TRIES = 4
_INSUFFICIENT_SIZE = 7
_FUNCTION_NOT_FOUND = 13


def running(nvml: Module, gpu: Handle, kind: str) -> list[int]:
    """The pids of the `Compute` or `Graphics` clients. Raises NVMLError, and ValueError for a list of another form."""
    library = ctypes.CDLL("libnvidia-ml.so.1")  # the one that pynvml has loaded
    for suffix in ("_v3", "_v2", ""):
        call = getattr(library, f"nvmlDeviceGet{kind}RunningProcesses{suffix}", None)
        if call is not None:
            return _pids(nvml, call, gpu)
    raise nvml.NVMLError(_FUNCTION_NOT_FOUND)


def _pids(nvml: Module, call: Function, gpu: Handle) -> list[int]:
    room = _ROOM
    for _ in range(_TRIES):
        count = ctypes.c_uint(room)
        entries = ctypes.create_string_buffer(_UNTOUCHED * (room * max(_ENTRY_BYTES)))
        code = call(gpu, ctypes.byref(count), entries)
        if code == 0:
            return _read(entries.raw[:-1], count.value)
        if code != _INSUFFICIENT_SIZE:
            raise nvml.NVMLError(code)
        room = 2 * max(count.value, room)  # more may have started meanwhile
    raise nvml.NVMLError(_INSUFFICIENT_SIZE)


def _read(entries: bytes, count: int) -> list[int]:
    if not count:
        return []
    written = len(entries.rstrip(_UNTOUCHED))
    size = next((size for size in _ENTRY_BYTES if size * count >= written), None)
    if size is None:
        raise ValueError(f"{written} bytes for {count} processes")
    starts = range(0, size * count, size)
    return [int.from_bytes(entries[start : start + _PID_BYTES], "little") for start in starts]
