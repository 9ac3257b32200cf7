"""Whether somebody who looked for nvcc needed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.messages import complained, seen
from envkit.checks.gpu.gpus import all_work
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def only_asked(environment: Environment, matrix: Matrix, id: str) -> bool:  # noqa: A002 - as in reports
    """True where a shell has no nvcc on a machine whose GPUs work, and nothing says that it was needed."""
    only = len(seen(environment, id)) == len(seen(environment, id, "nvcc-not-found"))
    return only and all_work(environment, matrix) and not complained(environment)
