"""What a pyproject.toml says to uv of indexes in vain: indexes that no source names, sources of no dependency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.project.model import Unread
from envkit.project.places import Lines, Source, entries, mapping

_NAME = regex(r"\s*([A-Za-z0-9][\w.-]*)")
_FAMILY = ("torch", "torchvision", "torchaudio")  # whose builds differ by index
_OF_UV = ("dev-dependencies", "constraint-dependencies", "override-dependencies", "build-constraint-dependencies")


def idle_indexes(document: Mapping[str, Any], sources: Mapping[str, Source], named: Set[str]) -> tuple[Unread, ...]:
    """The explicit indexes of uv that no package names, so that nothing comes from them."""
    explicit = (one for one in map(mapping, entries(_uv(document).get("index"))) if one.get("explicit") is True)
    idle = ((name, sources.get(name)) for name in (str(one.get("name", "")) for one in explicit) if name not in named)
    return tuple(Unread(source.line, name) for name, source in idle if source is not None and source.has_own_builds)


def idle_sources(document: Mapping[str, Any], lines: Lines) -> tuple[Unread, ...]:
    """The entries that uv passes over: a source counts only for what the project itself requires.

    Nothing is told of a project whose dependencies are not all in the file, nor of the root of a workspace, whose
    sources count for its members.
    """
    project, uv = mapping(document.get("project")), _uv(document)
    if not project or "dependencies" in entries(project.get("dynamic")) or "workspace" in uv:
        return ()
    asked = {normalized(name) for name in _asked(document, project, uv)}
    return tuple(
        Unread(lines.key(name), name)
        for name, value in mapping(uv.get("sources")).items()
        if normalized(name) in _FAMILY and normalized(name) not in asked
        if any("index" in mapping(one) for one in entries(value))
    )


def _asked(document: Mapping[str, Any], project: Mapping[str, Any], uv: Mapping[str, Any]) -> Iterator[str]:
    """The names in every list of requirements of the file."""
    optional = (*mapping(project.get("optional-dependencies")).values(),)
    groups = (*mapping(document.get("dependency-groups")).values(),)
    built = mapping(document.get("build-system")).get("requires")
    for requirements in (project.get("dependencies"), built, *optional, *groups, *(uv.get(key) for key in _OF_UV)):
        for requirement in entries(requirements):
            name = _NAME.match(requirement) if isinstance(requirement, str) else None
            if name is not None:
                yield name[1]


def _uv(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(document.get("tool")).get("uv"))
