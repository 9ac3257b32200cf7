"""Another release of a framework, where its own Python is there and its own index did not have the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import judged
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Framework, FrameworkBuild


def nearest_elsewhere(
    environment: Environment, matrix: Matrix, framework: Framework | None, exact: list[FrameworkBuild]
) -> Remedy | None:
    """The nearest release of the same line from another place; None where the text did not search the build's own."""
    messages = seen(environment, "python-no-wheel")
    index = (named(seen(environment, "python-no-wheel", "detail-index"), "index") or "").strip("/")
    searched = [row for row in exact if index and index in f"{row.index_url}{row.find_links}"]
    own = {python.version.release(2) for python in judged(environment) if python.version is not None}
    if framework is None or not searched or len(searched) < len([row for row in exact if _shares(row, searched[0])]):
        return None
    asked = exact[0].version
    rows = [
        row
        for row in matrix.builds(framework.name)
        if row.version != asked and row.version.release(2) == asked.release(2) and own <= set(row.pythons or own)
    ]
    best = min(rows, key=lambda row: _distance(row.version, asked), default=None)
    if not own or best is None:
        return None
    why = (
        f"This Python is right for {framework.title} {asked}, but the index in the input no longer has it, and no "
        f"other one does: use {best.version}, the nearest release, from its own index (with the CUDA in its name; the "
        "one on PyPI may be for another CUDA)."
    )
    return fresh(environment, matrix, framework.name, why, messages, version=best.version)


def _shares(row: FrameworkBuild, other: FrameworkBuild) -> bool:
    return (row.index_url, row.find_links) == (other.index_url, other.find_links)


def _distance(version: Version, asked: Version) -> tuple[int, ...]:
    return tuple(abs(mine - theirs) for mine, theirs in zip(version.parts, asked.parts, strict=False))
