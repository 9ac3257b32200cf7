"""A pixi.toml: Python from conda-forge, the frameworks' own wheels from their indexes."""

from __future__ import annotations

from json import dumps

from packaging.requirements import Requirement

from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.documents.packages import PackageList

_PLATFORMS = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}


def written(packages: PackageList) -> str:
    """The file: `pixi install` makes the environment."""
    platform = "win-64" if packages.platform == WINDOWS else _PLATFORMS[packages.architecture]
    python = f"{packages.release}.*" if packages.release else "*"
    lines = [*packages.comments, "[workspace]", f"name = {dumps(packages.name)}"]
    lines += ['channels = ["conda-forge"]', f"platforms = [{dumps(platform)}]"]
    lines += ["", "[dependencies]", f"python = {dumps(python)}", "", "[pypi-dependencies]"]
    lines += [_dependency(line, index) for line, index in packages.requirements]
    pages = [f"{{ url = {dumps(page)} }}" for page in packages.pages]
    options = [f"index-url = {dumps(packages.index_url)}"] if packages.index_url else []
    options += [f"find-links = [{', '.join(pages)}]"] if pages else []
    return "\n".join([*lines, *(["", "[pypi-options]", *options] if options else [])]) + "\n"


def _dependency(line: str, index: str) -> str:
    wanted = Requirement(line)
    parts = [f"url = {dumps(wanted.url)}"] if wanted.url else [f"version = {dumps(str(wanted.specifier) or '*')}"]
    if wanted.extras:
        parts.append(f"extras = [{', '.join(map(dumps, sorted(wanted.extras)))}]")
    if index and not wanted.url:
        parts.append(f"index = {dumps(index)}")
    return f"{normalized(wanted.name)} = {{ {', '.join(parts)} }}"
