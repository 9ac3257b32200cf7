"""What the interpreter does to files and processes while a piece of code runs, by Python's own audit events."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    f"os.{name}"
    for name in ("mkdir", "rmdir", "remove", "rename", "link", "symlink", "truncate", "chmod", "chown", "utime")
) | {"tempfile.mkstemp", "tempfile.mkdtemp"}
_STARTS = frozenset(
    {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty", "pty.spawn"}
)


@dataclass
class Trace:
    """What was opened for writing or changed, and what was started."""

    writes: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)


_active: list[Trace] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active:
        return
    if event == "open":
        path, _, flags = arguments
        for trace in _active:
            if flags & _WRITING:
                trace.writes.append(f"open {path}")
            else:
                trace.reads.append(str(path))
    elif event in _CHANGES:
        for trace in _active:
            trace.writes.append(f"{event} {arguments}")
    elif event in _STARTS:
        for trace in _active:
            trace.starts.append(f"{event} {arguments[:2]}")


sys.addaudithook(_hook)


@contextmanager
def traced() -> Iterator[Trace]:
    """What happens inside the block, in every thread."""
    trace = Trace()
    keeps_byte_code, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # of the modules that are imported
    _active.append(trace)
    try:
        yield trace
    finally:
        _active.remove(trace)
        sys.dont_write_bytecode = keeps_byte_code
