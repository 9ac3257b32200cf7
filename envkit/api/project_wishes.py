"""What the files of a project ask of a plan: found in its folder, read, and put into the words of the options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.errors import RequestError, SourceError
from envkit.project.wishes import PINS, WRITTEN, ProjectWishes, wishes

if TYPE_CHECKING:
    from envkit.project.model import Manifest
    from envkit.tables import Matrix

_OPTION = "--project"


@record
class Project:
    """A project's files: the one that people write, the lock with its pins if there is one, and what they ask for.

    `requirements` is the name of its list for pip, '' for a project that has none.
    """

    files: tuple[str, ...]
    wishes: ProjectWishes
    requirements: str = ""


def read_project(path: str, architecture: str, matrix: Matrix) -> Project:
    """The project in a folder, or the one that a file describes. Raises SourceError or RequestError."""
    from envkit.host.limits import limited

    with limited(f"{_OPTION}: {path}"):
        names = _files(path)
        manifests = [_manifest(name, architecture) for name in names]
        asked = wishes(manifests[0], manifests[-1], matrix)
    written = names[-1]
    if not asked.frameworks:
        raise RequestError(
            f"{_OPTION}: {', '.join(names)} names no framework that envkit knows.",
            "Name one with --framework; envkit matrix frameworks lists them.",
        )
    is_list = manifests[-1].kind == "requirements" and not manifests[-1].locked
    return Project(names, asked, os.path.basename(written) if is_list else "")


def _files(path: str) -> tuple[str, ...]:
    """The file with the pins and the one that people write, which is the last; one alone where it is both."""
    if not os.path.isdir(path):
        return (path,)
    pins, written = (
        next((file for name in names if os.path.isfile(file := os.path.join(path, name))), None)
        for names in (PINS, WRITTEN)
    )
    found = tuple(file for file in (pins, written) if file is not None)
    if not found:
        raise SourceError(
            f"{_OPTION}: {path} has no project file.",
            f"Name a file, or a directory that has one of {', '.join((*WRITTEN, *PINS))}.",
        )
    return found


def _manifest(path: str, architecture: str) -> Manifest:
    from envkit.host.user_file import read_beside, read_user_file
    from envkit.project.read import kind_of, read_manifest

    text = read_user_file(_OPTION, path, 10_000_000)
    kind = kind_of(path)
    if kind == "Dockerfile":
        raise SourceError(f"{_OPTION}: {path} is a Dockerfile.", "To check it: envkit dockerfile --check FILE.")
    try:
        return read_manifest(kind, text, lambda name: read_beside(path, name), architecture, "linux")
    except SourceError as error:
        raise SourceError(f"{_OPTION}: {path}: {error.message}", error.hint) from None
