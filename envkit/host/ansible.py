"""Runs ansible-playbook as a program: its lines as they come, its group ended with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from envkit.base.errors import RequestError
from envkit.host.guardian import GUARDIAN
from envkit.host.programs import Programs

_MOST = 100  # lines of what it said


def ansible_playbook() -> str:
    """The program's path: next to this Python, otherwise on PATH. Raises RequestError."""
    beside = os.path.join(os.path.dirname(sys.executable or ""), "ansible-playbook")
    if os.access(beside, os.X_OK):
        return beside
    found = Programs(os.environ).asked_for("ansible-playbook")
    if found is None:
        raise RequestError("ansible-playbook is not installed.", "Install it: pip install ansible-core")
    return found


def run_ansible(
    command: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None]
) -> tuple[int, list[str]]:
    """The exit status of Ansible and the first lines that it said; each line of its output is told at once.

    A person may answer its questions for passwords. It is ended where we are, and its workers, which have sessions of
    their own.
    """
    with subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=GUARDIAN.marked(Programs(variables).variables_asked_for),
        text=True,
        errors="replace",
    ) as process:
        said: list[str] = []
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if not line.startswith("{") and line.strip() and len(said) < _MOST:
                    said.append(line.strip())
                on_line(line)
            process.wait()
        finally:
            if process.poll() is None:  # we were stopped
                process.send_signal(signal.SIGTERM)
    return process.returncode, said
