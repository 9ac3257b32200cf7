"""A pyproject.toml for Poetry, which takes each package from its own source, with the commands that write the same."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from shlex import quote

from envkit.base.errors import EnvkitError
from envkit.base.names import requirement_name
from envkit.documents.packages import PackageList


def written(packages: PackageList) -> str:
    """The file: `poetry install` makes the environment. Raises EnvkitError for packages of a page of files."""
    if packages.pages:
        reason = "pip finds its packages on a page of files, which Poetry does not look at"
        raise EnvkitError(f"--format poetry: {reason}.", "Use pyproject, pixi, uv, or pip, which can.")
    lines = [*packages.comments, *_commands(packages), "[project]", f"name = {dumps(packages.name)}"]
    lines += ['version = "0"', f"requires-python = {dumps(_python(packages))}"]
    lines += ["dependencies = [", *(f"    {dumps(line)}," for line, _ in packages.requirements), "]"]
    lines += ["", "[tool.poetry]", "package-mode = false"]
    return "\n".join([*lines, *_sources(packages)]) + "\n"


def _python(packages: PackageList) -> str:
    """The release of Python, with the upper bound that Poetry asks for."""
    return f"=={packages.release}.*" if packages.release else ">=3"


def _commands(packages: PackageList) -> Iterator[str]:
    """The commands that add the same to a project that there is already."""
    names = packages.index_names
    yield "# In a project of your own:"
    yield from (_source(name, index) for index, name in names.items())
    for place in dict.fromkeys(index for _, index in packages.requirements):
        yield _added([line for line, index in packages.requirements if index == place], names.get(place, ""))
    if packages.same_index and not names and not packages.index_url:
        lines = [line for line, _ in packages.requirements]
        name = f"{requirement_name(lines[0])}-{packages.same_index.rstrip('/').rpartition('/')[2]}"
        yield "# The default index has these builds; for the same ones from the index of their own project:"
        yield _source(name, packages.same_index)
        yield _added(lines, name)


def _source(name: str, index: str) -> str:
    return f"#   poetry source add --priority explicit {quote(name)} {quote(index)}"


def _added(lines: list[str], source: str) -> str:
    return f"#   poetry add{f' --source {quote(source)}' if source else ''} {' '.join(map(quote, lines))}"


def _sources(packages: PackageList) -> Iterator[str]:
    names = packages.index_names
    if names:
        yield from ("", "[tool.poetry.dependencies]")
        for line, index in packages.requirements:
            if index:
                yield f"{requirement_name(line)} = {{ source = {dumps(names[index])} }}"
    if packages.index_url:
        yield from ("", "[[tool.poetry.source]]", 'name = "default"', f"url = {dumps(packages.index_url)}")
        yield 'priority = "primary"'
    for index, name in names.items():
        yield from ("", "[[tool.poetry.source]]", f"name = {dumps(name)}", f"url = {dumps(index)}")
        yield 'priority = "explicit"'
