"""Which flavors of the driver's kernel module drive a GPU: the open one, the proprietary one, or both."""

from __future__ import annotations

from envkit.tables.codes import ModuleFlavor, module_flavors
from envkit.tables.rows import GpuModel

# Said of GPUs that no one flavor drives: in a plan, and of a machine that somebody wants to build.
APART = (
    "{} needs the open kernel module and {} the proprietary one, and a system loads only one of them: use two "
    "machines, or give one of the cards to a virtual machine"
)


def flavors_of(model: GpuModel) -> ModuleFlavor | None:
    """What is known of the model's chip, or else of its family."""
    rows = [row for row in module_flavors() if row.family == model.family and row.chip in ("", model.chip)]
    return max(rows, key=lambda row: len(row.chip), default=None)
