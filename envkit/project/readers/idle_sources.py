"""Indexes that `tool.uv.sources` names for packages of the PyTorch family that the project does not ask for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.project.model import Unread
from envkit.project.places import Lines, mapping

_NAME = regex(r"\s*([A-Za-z0-9][\w.-]*)")
_FAMILY = ("torch", "torchvision", "torchaudio")  # whose builds differ by index
_OF_UV = ("dev-dependencies", "constraint-dependencies", "override-dependencies", "build-constraint-dependencies")


def idle_sources(document: Mapping[str, Any], lines: Lines) -> tuple[Unread, ...]:
    """The entries that uv passes over: a source counts only for what the project itself requires.

    Nothing is told of a project whose dependencies are not all in the file, nor of the root of a workspace, whose
    sources count for its members.
    """
    project, uv = mapping(document.get("project")), mapping(mapping(document.get("tool")).get("uv"))
    if not project or "dependencies" in _list(project.get("dynamic")) or "workspace" in uv:
        return ()
    asked = {normalized(name) for name in _asked(document, project, uv)}
    return tuple(
        Unread(lines.key(name), name)
        for name, value in mapping(uv.get("sources")).items()
        if normalized(name) in _FAMILY and normalized(name) not in asked
        if any("index" in mapping(one) for one in (value if isinstance(value, list) else [value]))
    )


def _asked(document: Mapping[str, Any], project: Mapping[str, Any], uv: Mapping[str, Any]) -> Iterator[str]:
    """The names in every list of requirements of the file."""
    optional = (*mapping(project.get("optional-dependencies")).values(),)
    groups = (*mapping(document.get("dependency-groups")).values(),)
    built = mapping(document.get("build-system")).get("requires")
    for requirements in (project.get("dependencies"), built, *optional, *groups, *(uv.get(key) for key in _OF_UV)):
        for requirement in _list(requirements):
            name = _NAME.match(requirement) if isinstance(requirement, str) else None
            if name is not None:
                yield name[1]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
