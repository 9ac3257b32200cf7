"""The programs that the engine needs, installed from the distribution when they are absent."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"

_PACKAGES = {"dockerd": "docker.io", "debootstrap": "debootstrap", "makeself": "makeself", "gpg": "gnupg"}


@contextmanager
def alone(name: str) -> Iterator[None]:
    """One process of the tests at a time: what several would make at once is made by the first of them."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str], *, check: bool = True, limit_s: float = 900) -> subprocess.CompletedProcess[str]:
    """The finished command with its output as text; an AssertionError that shows the output where it failed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    if check:
        assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def need(*programs: str) -> None:
    """Installs those of dockerd, debootstrap, makeself and gpg that PATH lacks; asks for root where it must."""
    with alone("packages"):
        missing = [program for program in programs if shutil.which(program) is None]
        if not missing:
            return
        assert os.geteuid() == 0, f"{', '.join(missing)} not found; root is needed to install them"
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        run(["apt-get", "update"])
        run(["apt-get", "install", "-y", "--no-install-recommends", *(_PACKAGES[program] for program in missing)])
