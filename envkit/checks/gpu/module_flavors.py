"""Which flavors of the driver's kernel module drive a GPU: the open one, the proprietary one, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.gpu.gpus import seen_gpus
from envkit.model import Environment
from envkit.tables.codes import ModuleFlavour, module_flavours

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import GpuModel


def flavors_of(model: GpuModel) -> ModuleFlavour | None:
    """What is known of the model's chip, or else of its family."""
    rows = [row for row in module_flavours() if row.family == model.family and row.chip in ("", model.chip)]
    return max(rows, key=lambda row: len(row.chip), default=None)


def needs_open(environment: Environment, matrix: Matrix) -> bool:
    """Whether a GPU here is driven by the open module alone, as Blackwell is."""
    rows = [[flavors_of(model) for model in gpu.models] for gpu in seen_gpus(environment, matrix)]
    return any(own and all(row is not None and not row.proprietary for row in own) for own in rows)
