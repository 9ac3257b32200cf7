"""What the files of a project ask of a plan: found in its folder, read, and put into the words of the options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.errors import RequestError, SourceError
from envkit.base.names import normalized
from envkit.project.planned import framework_of
from envkit.project.wishes import PINS, WRITTEN, ProjectWishes, wishes

if TYPE_CHECKING:
    from envkit.project.model import Manifest
    from envkit.tables import Matrix

_OPTION = "--project"
_PYPROJECT = "pyproject.toml"
_LIST = "requirements.txt"
_ENVIRONMENTS = ("environment.yml", "environment.yaml")
_LIMIT = 10_000_000  # of a file


@record
class Project:
    """A project's files: the one that people write, the lock with its pins if there is one, and what they ask for.

    `requirements` is the name of its list for pip, '' for a project that has none; `included` are the files that this
    list reads in turn, and `hashed` says that it pins hashes.
    """

    files: tuple[str, ...]
    wishes: ProjectWishes
    requirements: str = ""
    included: tuple[str, ...] = ()
    hashed: bool = False


def read_project(path: str, architecture: str, matrix: Matrix) -> Project:
    """The project in a folder, or the one that a file describes. Raises SourceError or RequestError."""
    from envkit.host.limits import limited
    from envkit.host.user_file import read_user_file

    with limited(f"{_OPTION}: {path}"):
        names = _files(path)
        included: list[str] = []
        manifests = [_manifest(name, architecture, included) for name in names]
        environment = _environment_beside(names, manifests, architecture, matrix)
        if environment is not None:
            names = (*names, environment[0])
            manifests = [*manifests[:-1], environment[1]]
        beside = _python_beside(names, manifests, architecture)
        if beside is not None:
            manifests[-1] = replace(manifests[-1], requires_python=beside.requires_python)
        asked = wishes(manifests[0], manifests[-1], matrix, architecture)
    written = names[-1]
    if not asked.frameworks:
        raise RequestError(
            f"{_OPTION}: {', '.join(names)} names no framework that envkit knows.",
            "Choose one with --framework; envkit matrix frameworks lists them.",
        )
    is_list = manifests[-1].kind == "requirements" and not manifests[-1].locked
    files = (*names, os.path.join(os.path.dirname(names[-1]), _PYPROJECT)) if beside is not None else names
    hashed = is_list and "--hash" in read_user_file(_OPTION, written, _LIMIT)
    return Project(files, asked, os.path.basename(written) if is_list else "", tuple(dict.fromkeys(included)), hashed)


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
            f"Pass a file, or a directory that has one of {', '.join((*WRITTEN, *PINS))}.",
        )
    return found


def _environment_beside(
    names: tuple[str, ...], manifests: list[Manifest], architecture: str, matrix: Matrix
) -> tuple[str, Manifest] | None:
    """The environment of conda next to a list that names no framework, where it names one, with what the list has."""
    written, listed = names[-1], manifests[-1]
    if os.path.basename(written) != _LIST or _names_framework(listed, matrix):
        return None
    folder = os.path.dirname(written)
    path = next((file for name in _ENVIRONMENTS if os.path.isfile(file := os.path.join(folder, name))), None)
    if path is None:
        return None
    read: list[str] = []
    found = _manifest(path, architecture, read)
    if not _names_framework(found, matrix):
        return None
    if _LIST in read:
        return path, found
    named = {normalized(one.package.name) for one in found.items}
    more = (one for one in listed.items if normalized(one.package.name) not in named)
    return path, replace(found, items=(*found.items, *more), unread=(*found.unread, *listed.unread))


def _names_framework(manifest: Manifest, matrix: Matrix) -> bool:
    return any(framework_of(item, matrix) is not None for item in manifest.items)


def _python_beside(names: tuple[str, ...], manifests: list[Manifest], architecture: str) -> Manifest | None:
    """The project's pyproject.toml, where that alone says which Python it requires."""
    path = os.path.join(os.path.dirname(names[-1]), _PYPROJECT)
    told = any(one.python is not None or one.requires_python for one in manifests)
    if told or path in names or os.path.basename(names[-1]) not in WRITTEN or not os.path.isfile(path):
        return None
    found = _manifest(path, architecture, [])
    return found if found.requires_python else None


def _manifest(path: str, architecture: str, included: list[str]) -> Manifest:
    """The manifest in a file; the names of the files that it reads in turn are added to `included`."""
    from envkit.host.user_file import read_beside, read_user_file
    from envkit.project.read import kind_of, read_manifest

    text = read_user_file(_OPTION, path, _LIMIT)
    kind = kind_of(path)
    if kind == "Dockerfile":
        raise SourceError(f"{_OPTION}: {path} is a Dockerfile.", "To check it: envkit dockerfile --check FILE.")

    def beside(name: str) -> str | None:
        found = read_beside(path, name)
        included.extend([name] if found is not None else ())
        return found

    try:
        return read_manifest(kind, text, beside, architecture, "linux")
    except SourceError as error:
        raise SourceError(f"{_OPTION}: {path}: {error.message}", error.hint) from None
