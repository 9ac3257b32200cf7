"""Which flavor of the driver's kernel module the GPUs of a machine need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.gpu.gpus import seen_gpus
from envkit.compat.module_flavors import flavors_of
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def needs_open(environment: Environment, matrix: Matrix) -> bool:
    """Whether a GPU here is driven by the open module alone, as Blackwell is."""
    rows = [[flavors_of(model) for model in gpu.models] for gpu in seen_gpus(environment, matrix)]
    return any(own and all(row is not None and not row.proprietary for row in own) for own in rows)
