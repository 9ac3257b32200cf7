"""Ends the children of a process that is no more, however it ended: by a signal, a crash or a KILL.

A shell of a few lines reads from a pipe which groups of children live. When the last writer of the pipe is gone, which
the kernel sees to, it kills those that are left. It is started with the first child, in a session of its own.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

_SCRIPT = """
groups=' '
while read -r word group; do
  case $word in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guardian:
    """Keeps the groups of running children; where no shell can be started it keeps nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: int | None = None
        self._started = False

    def watch(self, group: int) -> None:
        """The group is to end with this process."""
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """The group has ended."""
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        with self._lock, contextlib.suppress(OSError):
            if not self._started:
                self._started = True
                self._pipe = _start()
            if self._pipe is not None:
                os.write(self._pipe, line.encode())


def _start() -> int:
    """The end of a pipe that the guardian reads. Raises OSError where it cannot be started."""
    reading, writing = os.pipe()
    try:
        subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        ).returncode = 0  # nobody waits for it
    except OSError:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return writing


GUARDIAN = Guardian()
