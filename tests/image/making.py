"""Plans and Dockerfiles for the tests, from requests written as on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dockerfile
from click.testing import CliRunner, Result

from envkit.base.settings import Mirrors
from envkit.base.versions import VersionSpec
from envkit.cli.main import envkit
from envkit.image.options import ImageOptions
from envkit.image.parts import Recipe
from envkit.image.plan import resolved
from envkit.image.recipe import recipe
from envkit.render.dockerfile import render_dockerfile
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import FrameworkRequest, Request
from envkit.tables import Matrix

HADOLINT = Path(sys.executable).with_name("hadolint")


def request(*frameworks: str, **limits: str | bool) -> Request:
    """The request for an image: frameworks as NAME or NAME==SPEC; limits name its other fields."""
    parts = []
    for text in frameworks:
        name, _, spec = text.partition("==")
        parts.append(FrameworkRequest(name, VersionSpec.parse(spec) if spec else None))
    values: dict[str, Any] = {
        key: VersionSpec.parse(str(value)) if key in ("cuda", "cudnn", "python") else value
        for key, value in limits.items()
    }
    return Request(frameworks=tuple(parts), container=True, asked=frozenset(limits), **values)


def planned(asked: Request, matrix: Matrix) -> Plan | NoPlan:
    """The versions that the command line would plan."""
    return resolved(asked, ImageOptions(), matrix)


def plan(matrix: Matrix, *frameworks: str, **limits: str | bool) -> Plan:
    """The plan of a request that has one."""
    found = planned(request(*frameworks, **limits), matrix)
    assert isinstance(found, Plan), found.conflicts
    return found


def made(matrix: Matrix, *frameworks: str, options: ImageOptions | None = None, **limits: str | bool) -> Recipe:
    """The recipe of a request that has a plan."""
    return recipe(plan(matrix, *frameworks, **limits), options or ImageOptions(), Mirrors(), matrix)


def text(matrix: Matrix, *frameworks: str, options: ImageOptions | None = None, **limits: str | bool) -> str:
    """The Dockerfile of a request that has a plan."""
    return render_dockerfile(made(matrix, *frameworks, options=options, **limits))


def parsed(dockerfile_text: str) -> tuple[Any, ...]:
    """The instructions as BuildKit's own parser reads them."""
    commands: tuple[Any, ...] = dockerfile.parse_string(dockerfile_text)
    return commands


def commands(dockerfile_text: str, keyword: str) -> list[str]:
    """The words of every instruction with that keyword."""
    return [" ".join(part.value) for part in parsed(dockerfile_text) if part.cmd.upper() == keyword]


def run(*arguments: str) -> Result:
    """`envkit dockerfile` with these arguments; what it raises is raised."""
    result = CliRunner().invoke(envkit, ["dockerfile", *arguments], standalone_mode=False)
    if isinstance(result.exception, Exception):
        raise result.exception
    return result


def froms(dockerfile_text: str) -> list[str]:
    """The images that FROM lines name, earlier stages left out."""
    commands = [command for command in parsed(dockerfile_text) if command.cmd.lower() == "from"]
    stages = {command.value[2] for command in commands if len(command.value) > 2}
    return [command.value[0] for command in commands if command.value[0] not in stages]


def hadolint(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Every finding of hadolint, at its default level, in these files (many per process)."""
    batches = [files[start::2] for start in range(2) if files[start::2]]
    with ThreadPoolExecutor() as pool:
        return [finding for found in pool.map(_hadolint, batches) for finding in found]


def _hadolint(files: Sequence[Path]) -> list[dict[str, Any]]:
    command = [str(HADOLINT), "--format", "json", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    findings: list[dict[str, Any]] = json.loads(done.stdout)
    return findings
