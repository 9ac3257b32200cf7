"""A pyproject.toml with the settings of uv, which take each package from its own index."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps

from envkit.base.names import requirement_name
from envkit.base.platforms import WINDOWS
from envkit.documents.packages import PackageList


def written(packages: PackageList) -> str:
    """The file: `uv sync` makes the environment."""
    lines = [*packages.comments, "[project]", f"name = {dumps(packages.name)}"]
    lines += ['version = "0"']
    if packages.release:
        lines.append(f'requires-python = "=={packages.release}.*"')
    lines += ["dependencies = [", *(f"    {dumps(line)}," for line, _ in packages.requirements), "]"]
    lines += ["", "[tool.uv]", "package = false", f"environments = [{dumps(_marker(packages))}]"]
    if packages.pages:
        lines.append(f"find-links = [{', '.join(map(dumps, packages.pages))}]")
    return "\n".join([*lines, *_indexes(packages)]) + "\n"


def _indexes(packages: PackageList) -> Iterator[str]:
    names = packages.index_names
    if names:
        yield from ("", "[tool.uv.sources]")
        for line, index in packages.requirements:
            if index:
                yield f"{requirement_name(line)} = {{ index = {dumps(names[index])} }}"
    if packages.index_url:
        yield from ("", "[[tool.uv.index]]", f"url = {dumps(packages.index_url)}", "default = true")
    for index, name in names.items():
        yield from ("", "[[tool.uv.index]]", f"name = {dumps(name)}", f"url = {dumps(index)}", "explicit = true")


def _marker(packages: PackageList) -> str:
    """The machines that the plan is for: others would need other builds."""
    windows = packages.platform == WINDOWS
    system, machine = ("win32", "AMD64") if windows else ("linux", packages.architecture)
    return f"sys_platform == '{system}' and platform_machine == '{machine}'"
