"""Which kind of file a text is, by its name and then by what it holds, and the reader for it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.base.toml_text import toml_table
from envkit.project.model import Beside, Manifest

_KINDS = (
    ("Dockerfile", regex(r"(?i)(?:\A|\.)(?:dockerfile|containerfile)(?:\Z|\.)")),
    ("uv.lock", regex(r"\Auv\.lock\Z")),
    ("poetry.lock", regex(r"\Apoetry\.lock\Z")),
    ("pdm.lock", regex(r"\Apdm[\w.-]{0,40}\.lock\Z")),
    ("pylock.toml", regex(r"\Apylock(?:\.[^.]{1,40})?\.toml\Z")),
    ("Pipfile.lock", regex(r"\APipfile\.lock\Z")),
    ("Pipfile", regex(r"\APipfile\Z")),
    ("pixi.lock", regex(r"\Apixi\.lock\Z")),
    ("pixi.toml", regex(r"\Apixi\.toml\Z")),
    ("pyproject.toml", regex(r"\.toml\Z")),
    ("conda-lock.yml", regex(r"conda-lock\.ya?ml\Z")),
    ("environment.yml", regex(r"\.ya?ml\Z")),
    ("setup.py", regex(r"\.py\Z")),
    ("setup.cfg", regex(r"\.cfg\Z")),
    ("requirements", regex(r"\.(?:txt|in|pip)\Z|requirements|\Aconda[\w.-]{0,40}\.lock\Z|\A-\Z")),
)
KINDS = tuple(kind for kind, _ in _KINDS)
_CONDA_LIST = regex(r"conda create --name|(?m:^@EXPLICIT\s*$)")
_YAML_LOCK = regex(r"(?m)^package:\s*$")


def kind_of(path: str) -> str:
    """The kind that the name of a file tells. Raises SourceError for one that tells none."""
    name = posixpath.basename(path.replace("\\", "/"))
    for kind, pattern in _KINDS:
        if pattern.search(name):
            return kind
    raise SourceError(
        f"{path} does not have the name of a project file.",
        "Pass a requirements.txt, pyproject.toml, lock file, environment.yml, setup.py, or Dockerfile.",
    )


def read_manifest(kind: str, text: str, beside: Beside, architecture: str, platform: str) -> Manifest:
    """The manifest in a text of that kind. Raises SourceError for a text that is none."""
    if kind == "requirements":
        return _of_lines(text, beside)
    if kind in ("setup.py", "setup.cfg"):
        from envkit.project.readers.setup_files import read_setup_cfg, read_setup_py

        return read_setup_py(text) if kind == "setup.py" else read_setup_cfg(text, beside)
    if kind in ("environment.yml", "conda-lock.yml", "pixi.lock"):
        return _of_yaml(kind, text, beside, architecture, platform)
    return _of_table(kind, text)


def _of_lines(text: str, beside: Beside) -> Manifest:
    if _CONDA_LIST.search(text[:2000]) and not any("==" in line for line in text.splitlines() if line[:1] != "#"):
        from envkit.project.readers.conda_files import read_list

        return read_list(text)
    from envkit.project.readers.requirements_txt import read

    return read(text, beside)


def _of_yaml(kind: str, text: str, beside: Beside, architecture: str, platform: str) -> Manifest:
    from envkit.project.readers.conda_files import read_conda_lock, read_environment, read_pixi_lock

    if kind == "pixi.lock":
        return read_pixi_lock(text, architecture, platform)
    if kind == "conda-lock.yml" or _YAML_LOCK.search(text):
        return read_conda_lock(text, architecture, platform)
    return read_environment(text, beside)


def _of_table(kind: str, text: str) -> Manifest:
    from envkit.project.readers import locks, pyproject

    lock = {
        "uv.lock": locks.read_uv,
        "poetry.lock": locks.read_poetry,
        "pdm.lock": locks.read_pdm,
        "pylock.toml": locks.read_pylock,
    }.get(kind)
    if lock is not None:
        return lock(_toml(locks.without_files(text)), text)
    if kind == "Pipfile.lock":
        return locks.read_pipfile_lock(_json(text), text)
    document = _toml(text)
    if kind == "Pipfile":
        return pyproject.read_pipfile(document, text)
    if kind == "pixi.toml":
        from envkit.project.places import Lines
        from envkit.project.readers.conda_files import read_pixi

        return read_pixi(document, Lines(text))
    return pyproject.read(document, text)


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return toml_table(text)
    except ValueError as error:
        raise SourceError(f"it is not TOML: {error}.", "Fix the file, then run the check again.") from None


def _json(text: str) -> Mapping[str, Any]:
    import json

    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceError("it is not JSON.", "Pass a Pipfile.lock that pipenv can read.") from None
    return document if isinstance(document, dict) else {}
