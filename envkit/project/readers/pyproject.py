"""pyproject.toml: PEP 621, with the indexes and sources of uv, Poetry and PDM; and a Pipfile, which is alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.project.model import Item, Manifest, Unread
from envkit.project.places import Lines, Source, at_index, entries, item, mapping, places_for, sorted_out
from envkit.project.readers.idle_sources import idle_indexes, idle_sources

_REQUIREMENT_NAME = regex(r"\s*([A-Za-z0-9][\w.-]*)")
_BRACKETS = regex(r"^([^;(]*)\(([^)]*)\)")
Found = list["Item | Unread | None"]


def read(document: Mapping[str, Any], text: str) -> Manifest:
    """What a project's own file asks for; what is in extras carries their names as groups."""
    lines = Lines(text)
    project, tool = mapping(document.get("project")), mapping(document.get("tool"))
    sources = dict(_sources(tool, lines))
    chosen, placed = _chosen(tool), _placed(tool)
    found: Found = []
    for group, requirements in _groups(project):
        for requirement in requirements:
            found += _of_pep_621(requirement, group, lines, sources, chosen, placed)
    found += _poetry(
        mapping(tool.get("poetry")), lines, sources, {normalized(one.package.name) for one in sorted_out(found)[0]}
    )
    python = str(project.get("requires-python", ""))
    poetry_python = mapping(mapping(tool.get("poetry")).get("dependencies")).get("python", "")
    items, unread = sorted_out(found)
    manifest = Manifest(
        "pyproject.toml",
        items,
        unread,
        python or caret(str(poetry_python)),
        extras=_extras(project, tool),
        idle_indexes=idle_indexes(document, sources, {index for picks in chosen.values() for index, _, _ in picks}),
        idle_sources=idle_sources(document, lines),
    )
    return _with_pixi(manifest, mapping(tool.get("pixi")), lines)


def read_pipfile(document: Mapping[str, Any], text: str) -> Manifest:
    """A Pipfile: packages with versions and the names of their sources."""
    lines = Lines(text)
    sources = {
        str(one.get("name", "")): Source(str(one.get("url", "")), lines.quoted(str(one.get("url", ""))), only=True)
        for one in entries(document.get("source"))
        if isinstance(one, dict)
    }
    found = list(_table(mapping(document.get("packages")), "index", lines, sources, ""))
    items, unread = sorted_out(found)
    version = str(mapping(document.get("requires")).get("python_version", ""))
    return Manifest("Pipfile", items, unread, f"=={version}.*" if version else "")


def _with_pixi(manifest: Manifest, pixi: Mapping[str, Any], lines: Lines) -> Manifest:
    if not pixi:
        return manifest
    from envkit.project.readers.conda_files import read_pixi

    also = read_pixi(pixi, lines)
    return replace(
        manifest,
        items=(*manifest.items, *also.items),
        unread=(*manifest.unread, *also.unread),
        python=also.python,
        driver_cuda=also.driver_cuda,
        undeclared=also.undeclared,
        extras=None if manifest.extras is None else (*manifest.extras, *(also.extras or ())),
    )


def _extras(project: Mapping[str, Any], tool: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names that --extra takes, None where a program makes them up when it builds the project."""
    if "optional-dependencies" in entries(project.get("dynamic")):
        return None
    poetry = mapping(tool.get("poetry"))
    optional = (name for name, one in mapping(poetry.get("group")).items() if mapping(one).get("optional") is True)
    named = (*mapping(project.get("optional-dependencies")), *mapping(poetry.get("extras")), *optional)
    return tuple(dict.fromkeys(map(str, named)))


def _groups(project: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    yield "", entries(project.get("dependencies"))
    for name, requirements in mapping(project.get("optional-dependencies")).items():
        yield str(name), entries(requirements)


def _of_pep_621(
    requirement: object,
    group: str,
    lines: Lines,
    sources: Mapping[str, Source],
    chosen: Mapping[str, list[tuple[str, str, str]]],
    placed: Mapping[str, str],
) -> Iterator[Item | Unread | None]:
    """A requirement line, once for each source that its tool is told to take for it."""
    if not isinstance(requirement, str):
        return
    line = lines.quoted(requirement)
    text = _BRACKETS.sub(r"\1\2", requirement)  # torch (>=2.8.0)
    name = _REQUIREMENT_NAME.match(text)
    known = normalized(name[1]) if name else ""
    if known in placed:
        yield from () if group else (Unread(line, placed[known]),)
        return
    picks = chosen.get(known, [])
    if not picks:
        places, index_line = places_for(name[1] if name else "", sources)
        yield item(text, line, places, written=requirement, group=group, index_line=index_line)
    for index, marker, extra in picks:
        if extra and extra != group:
            continue
        source = sources.get(index)
        if source is None:
            yield Unread(line, f"{requirement} from {index}")
            continue
        own, _, condition = text.partition(";")
        both = " and ".join(f"({one.strip()})" for one in (condition, marker) if one.strip())
        places = at_index(source.url if source.has_own_builds else "")
        whole = f"{own}; {both}" if both else own
        yield item(whole, line, places, written=requirement, group=group, index_line=source.line)


# ---- indexes


def _sources(tool: Mapping[str, Any], lines: Lines) -> Iterator[tuple[str, Source]]:
    uv, poetry, pdm = (mapping(tool.get(name)) for name in ("uv", "poetry", "pdm"))
    for one in entries(uv.get("index")):
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            url = one["url"]
            only, default = one.get("explicit") is True, one.get("default") is True
            yield str(one.get("name", url)), Source(url, lines.quoted(url), only, default)
    for key in ("extra-index-url", "index-url"):
        for url in entries(uv.get(key)) or entries(mapping(uv.get("pip")).get(key)):
            yield str(url), Source(str(url), lines.quoted(str(url)))
    for one in entries(poetry.get("source")):
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            only = one.get("priority") in ("explicit", "supplemental") or one.get("secondary") is True
            yield str(one.get("name", "")), Source(one["url"], lines.quoted(one["url"]), only)
    for one in entries(pdm.get("source")):
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            yield (
                str(one.get("name", "")),
                Source(one["url"], lines.quoted(one["url"]), default=one.get("name") == "pypi"),
            )


def _place(name: str, given: Mapping[str, Any]) -> str:
    """What pip calls a package of a repository, an address, or a folder; '' for one of an index."""
    if "git" in given:
        tree = next((f"@{given[key]}" for key in ("rev", "tag", "branch") if key in given), "")
        return f"{name} @ git+{given['git']}{tree}"
    if "url" in given:
        return f"{name} @ {given['url']}"
    if "path" in given:
        return f"./{str(given['path']).removeprefix('./')}"
    return f"./{name}" if given.get("workspace") is True else ""


def _placed(tool: Mapping[str, Any]) -> dict[str, str]:
    """The packages that uv takes from elsewhere than an index, as pip calls them."""
    sources = mapping(mapping(tool.get("uv")).get("sources")).items()
    found = {normalized(name): _place(name, mapping(value)) for name, value in sources}
    return {name: place for name, place in found.items() if place}


def _chosen(tool: Mapping[str, Any]) -> dict[str, list[tuple[str, str, str]]]:
    """Which indexes uv and Poetry take a package from: name, marker and extra of each."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name, value in mapping(mapping(tool.get("uv")).get("sources")).items():
        for one in entries(value):
            if isinstance(one, dict) and "index" in one:
                pick = (str(one["index"]), str(one.get("marker", "")), str(one.get("extra", "")))
                found.setdefault(normalized(name), []).append(pick)
    for name, value in mapping(mapping(tool.get("poetry")).get("dependencies")).items():
        for one in entries(value):
            if isinstance(one, dict) and "source" in one:
                pick = (str(one["source"]), str(one.get("markers", "")), "")
                found.setdefault(normalized(name), []).append(pick)
    return found


# ---- Poetry


def _poetry(
    poetry: Mapping[str, Any], lines: Lines, sources: Mapping[str, Source], named: set[str]
) -> Iterator[Item | Unread | None]:
    table = {
        name: value for name, value in mapping(poetry.get("dependencies")).items() if normalized(name) not in named
    }
    owners: dict[str, list[str]] = {}
    for extra, packages in mapping(poetry.get("extras")).items():
        for name in entries(packages):
            owners.setdefault(normalized(str(name)), []).append(str(extra))
    yield from _table(table, "source", lines, sources, "", owners)
    groups = mapping(poetry.get("group"))
    for name, group in groups.items():
        optional = isinstance(group, dict) and group.get("optional") is True
        if optional or name not in ("dev", "test", "docs", "lint"):
            yield from _table(
                mapping(mapping(group).get("dependencies")), "source", lines, sources, str(name) if optional else ""
            )


def _table(
    table: Mapping[str, Any],
    source_key: str,
    lines: Lines,
    sources: Mapping[str, Source],
    group: str,
    owners: Mapping[str, Iterable[str]] | None = None,  # the extras of each package that is optional
) -> Iterator[Item | Unread | None]:
    """Packages as `name = "version"` or `name = {version = …}`; a list has one for each marker."""
    for name, value in table.items():
        if normalized(name) == "python":
            continue
        for one in entries(value):
            given = mapping(one)
            place = _place(name, given)
            if place:
                yield Unread(lines.key(name), place)
                continue
            spec = caret(str(given.get("version", "") if given else one))
            extras = given.get("extras")
            words = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) else ""
            marker = str(given.get("markers", "") or "")
            source = sources.get(str(given.get(source_key, "")))
            places, index_line = places_for(name, sources)
            if source is not None:
                places, index_line = at_index(source.url if source.has_own_builds else ""), source.line
            text = f"{name}{words}{spec}" + (f"; {marker}" if marker else "")
            optional = given.get("optional") is True
            for own in (owners or {}).get(normalized(name), ("extra",)) if optional else (group,):
                yield item(text, lines.key(name), places, group=own, index_line=index_line)


def caret(spec: str) -> str:
    """Poetry's `^2.0` and `~2.1` as PEP 440 writes them; a bare version is exact."""
    return ",".join(filter(None, (_clause(part.strip()) for part in spec.split(","))))


def _clause(part: str) -> str:
    if not part or part == "*":
        return ""
    if part[0] == "^" or (part[0] == "~" and part[1:2] != "="):
        low = part[1:].strip()
        numbers = low.partition("+")[0].split(".")
        return f">={low},<{_next(numbers, caret=part[0] == '^')}"
    return part if part[0] in "<>=!~" else f"=={part}"


def _next(numbers: list[str], *, caret: bool) -> str:
    """The first version that is too new: `^` keeps the first number that is not zero, `~` the second one."""
    place = min(1, len(numbers) - 1)
    if caret:
        place = next((at for at, number in enumerate(numbers) if number.strip("0")), len(numbers) - 1)
    last = numbers[place]
    return ".".join([*numbers[:place], str(int(last) + 1) if last.isdigit() and len(last) < 9 else last])
