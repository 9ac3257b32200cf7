"""How long the program takes, with all its children, and how much memory its largest process held.

Seconds are those of the machine on which the limits were set (`tests.processor_time`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.processor_time import slowness


@dataclass(frozen=True)
class Measured:
    """One run: `megabytes` of the process, or of the child, that held the most; processor time of all together."""

    exit_code: int
    seconds: float
    megabytes: float
    output: str
    processor_seconds: float = 0.0


_MEASURE = """
import json, os, resource, subprocess, sys, time
began = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
print(done.stdout.decode("utf-8", "replace")[-4000:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, time.monotonic() - began, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime]))
"""


def envkit_measured(*words: str, variables: Mapping[str, str] | None = None, cwd: Path | None = None) -> Measured:
    """A run of the program; one that takes over four minutes ends with 124."""
    import json

    command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "envkit", *words]
    environment = {**os.environ, **(variables or {})}
    began = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        return Measured(124, time.monotonic() - began, 0.0, done.stderr)
    text, _, numbers = done.stdout.rstrip().rpartition("\n")
    code, seconds, size, busy = json.loads(numbers)
    slow = slowness()
    return Measured(code, seconds / slow, size, text, busy / slow)
