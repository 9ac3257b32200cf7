"""Ends the children of a process that is no more, however it ended: by a signal, a crash or a KILL.

A shell of a few lines reads from a pipe which groups of children live. When the last writer of the pipe is gone, which
the kernel sees to, it kills those that are left, and every process that carries the mark of this run in its
environment: one that was just being started, or that made a session of its own. It is started with the first child.
A step of a fix has a mark that counts only while the step is under way: what it leaves running on purpose stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping

_MARK = "ENVKIT_RUN"
_STEP = "ENVKIT_STEP"
_SCRIPT = """
groups=' '
step=
while read -r word group; do
  case $word in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    '!') step=$group ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for turn in 1 2 3; do
  for file in $(grep -l -s -F -e "$1" ${step:+-e "$step"} /proc/[0-9]*/environ); do
    process=${file#/proc/}
    kill -s KILL "${process%/environ}"
  done
done
"""


class Guardian:
    """Keeps the groups of running children; where no shell can be started it keeps nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: int | None = None
        self._started = False
        self._steps = 0
        self.process: int | None = None
        self._run = f"{os.getpid()}-{time.time_ns()}"

    def marked(self, environment: Mapping[str, str]) -> dict[str, str]:
        """A child's environment with the mark of this run; the guardian is there before the child is."""
        self._tell("")
        return {**environment, _MARK: self._run}

    def watch(self, group: int) -> None:
        """The group is to end with this process."""
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """The group has ended."""
        self._tell(f"- {group}\n")

    @contextlib.contextmanager
    def step(self, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """A child's environment with a mark that counts until the block ends."""
        self._steps += 1
        value = f"{self._run}-{self._steps}."
        self._tell(f"! {_STEP}={value}\n")
        try:
            yield {**environment, _STEP: value}
        finally:
            self._tell("! \n")

    def _tell(self, line: str) -> None:
        with self._lock, contextlib.suppress(OSError):
            if not self._started:
                self._started = True
                self._pipe, self.process = _start(f"{_MARK}={self._run}")
            if self._pipe is not None:
                os.write(self._pipe, line.encode())


def _start(mark: str) -> tuple[int, int]:
    """The end of a pipe that the guardian reads, and its process. Raises OSError where it cannot be started."""
    reading, writing = os.pipe()
    # the shell inherits them as held: one that comes before it has a group of its own would end it
    held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        guardian = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "envkit-guardian", mark],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        guardian.returncode = 0  # nobody waits for it
    except OSError:
        os.close(writing)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(reading)
    return writing, guardian.pid


GUARDIAN = Guardian()
