"""The Linux inside Windows: its driver is that of Windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.compat.packages import brings_cuda
from envkit.solver.model import Conflict
from envkit.solver.request import Request
from envkit.tables.codes import limit
from envkit.tables.rows import FrameworkBuild, framework_title


def refused_driver(driver: Version) -> Conflict | None:
    """Why a driver cannot give WSL a GPU; None for one that can."""
    first = limit("driver-for-wsl")
    if driver >= first:
        return None
    detail = (
        f"CUDA in WSL needs WSL 2 (WSL 1 has no GPU) and the Windows driver of branch {first} or newer on Windows; "
        "never install a Linux driver inside WSL, and remove one that is there"
    )
    return Conflict(("wsl", f"driver {driver}"), detail, ("nvidia-wsl-guide",))


def wsl_notes(request: Request, builds: Iterable[FrameworkBuild]) -> Iterator[str]:
    """What decides in WSL: the driver of Windows, and for a container Docker Desktop next to it."""
    titles = list(dict.fromkeys(framework_title(build.framework) for build in builds if brings_cuda(build)))
    if titles:
        yield (
            f"in WSL, only the Windows driver matters: the packages of {series(titles)} include their own CUDA, so "
            "neither a CUDA toolkit nor a Linux driver is needed there"
        )
    newer = limit("driver-for-newer-docker-desktop")
    if request.container and request.driver is not None and request.driver >= newer:
        yield (
            f"with Windows drivers of branch {newer} or newer, Docker Desktop must be "
            f"{limit('docker-desktop-for-newer-driver')} or newer: in older releases, containers see no GPU, whatever "
            "the image contains"
        )
