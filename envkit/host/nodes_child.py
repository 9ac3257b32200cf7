"""Opens the driver's device nodes, as a CUDA program would: `{"/dev/nvidia0": "" or the name of the error}`."""

from __future__ import annotations

import errno
import glob
import os
import stat

from envkit.host.child_output import answer_with


def main() -> None:
    """Print the outcome for each node; a device cgroup refuses here although the mode allows it."""
    answer_with(lambda: {path: _error(path) for path in sorted(glob.glob("/dev/nvidia*")) if _is_node(path)})


def _is_node(path: str) -> bool:
    return stat.S_ISCHR(os.stat(path).st_mode)


def _error(path: str) -> str:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return ""
