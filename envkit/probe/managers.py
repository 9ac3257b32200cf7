"""What manages the project of the working folder: a remedy by another tool would be undone by it."""

from __future__ import annotations

from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing
from envkit.model.observed import unseen

FILES = {  # of a project's folder
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pixi.lock": "pixi",
    "Pipfile.lock": "pipenv",
}
_SOURCE = "files of the working folder"


def managed_by(host: Host) -> Observed[tuple[str, ...]]:
    """The managers whose lock file lies in the working folder; NOT_LOOKED for a host without one."""
    folder = host.identity().get("cwd", "")
    if not folder:
        return unseen()
    names = tuple(name for file, name in FILES.items() if host.status(f"{folder}/{file}").known)
    return found(names, _SOURCE) if names else missing(Problem.ABSENT, _SOURCE)
