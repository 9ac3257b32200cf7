"""Runs ansible-playbook as a program: its lines as they come, its group ended with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from envkit.base.errors import EnvkitError
from envkit.host.programs import Programs

_LAST = 5  # lines of what it said, for a person


def ansible_playbook() -> str:
    """The program's path: beside this Python, else on PATH. Raises EnvkitError."""
    beside = os.path.join(os.path.dirname(sys.executable or ""), "ansible-playbook")
    if os.access(beside, os.X_OK):
        return beside
    found = Programs(os.environ).which("ansible-playbook").value
    if found is None:
        raise EnvkitError("ansible-playbook is not installed.", "Install it: pip install ansible-core")
    return found


def run_ansible(
    command: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None]
) -> tuple[int, str]:
    """The exit status and the last words of Ansible; each line of its output is told at once.

    A person may answer its questions for passwords. It is ended where we are.
    """
    with subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(variables),
        text=True,
        errors="replace",
    ) as process:
        last: deque[str] = deque(maxlen=_LAST)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if not line.startswith("{"):
                    last.append(line.strip())
                on_line(line)
            process.wait()
        finally:
            if process.poll() is None:  # we were stopped
                process.send_signal(signal.SIGTERM)
    return process.returncode, " ".join(filter(None, last))
