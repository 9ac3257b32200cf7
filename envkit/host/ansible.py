"""Runs ansible-playbook as a program: its lines as they come, its group ended with us."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from envkit.base.errors import RequestError
from envkit.host.guardian import GUARDIAN
from envkit.host.programs import Programs

_MOST = 100  # lines of what it said
_AT_ONCE = 65_536  # bytes
_FAREWELL_S = 10


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
    command: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None], patience_s: float
) -> tuple[int | None, list[str]]:
    """The exit status of Ansible and the first lines that it said; each line of its output is told at once.

    None for one that said nothing for `patience_s` seconds after its first line: it waits for a host that is gone, and
    is ended. A person may answer its questions for passwords before. It is ended where we are, and its workers, which
    have sessions of their own.
    """
    said: list[str] = []
    with subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=GUARDIAN.marked(Programs(variables).variables_asked_for),
    ) as process:
        try:
            for line in _lines(process, patience_s):
                if not line.startswith("{") and line.strip() and len(said) < _MOST:
                    said.append(line.strip())
                on_line(line)
            return process.poll(), said
        finally:
            if process.poll() is None:  # we were stopped, or it hangs
                _end(process)


def _lines(process: subprocess.Popen[bytes], patience_s: float) -> Iterator[str]:
    """What it prints, by lines, until it has ended, or until nothing came for so long."""
    assert process.stdout is not None
    rest, wait_s = bytearray(), None
    while select.select([process.stdout], [], [], wait_s)[0]:
        data = os.read(process.stdout.fileno(), _AT_ONCE)
        if not data:
            yield from (line.decode("utf-8", "replace") for line in (rest,) if line)
            process.wait()
            return
        rest += data
        if b"\n" in data:
            *lines, rest = rest.split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in lines)
        wait_s = patience_s


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_FAREWELL_S)
    except subprocess.TimeoutExpired:
        process.kill()
