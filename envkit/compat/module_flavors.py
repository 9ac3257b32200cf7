"""Which flavors of the driver's kernel module drive a GPU: the open one, the proprietary one, or both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from envkit.tables.codes import ModuleFlavor, module_flavors
from envkit.tables.rows import GpuModel


class Flavors(Protocol):
    """A row that says which flavors drive a GPU."""

    @property
    def open(self) -> bool:
        """The open one does."""

    @property
    def proprietary(self) -> bool:
        """The proprietary one does."""


def flavors_of(model: GpuModel) -> ModuleFlavor | None:
    """What is known of the model's chip, or else of its family."""
    rows = [row for row in module_flavors() if row.family == model.family and row.chip in ("", model.chip)]
    return max(rows, key=lambda row: len(row.chip), default=None)


def apart(gpus: Iterable[tuple[str, Flavors]]) -> str:
    """Why no flavor drives all these GPUs, by their names; '' where one does."""
    named = tuple(gpus)
    open_only = [name for name, flavor in named if not flavor.proprietary]
    proprietary_only = [name for name, flavor in named if not flavor.open]
    if not open_only or not proprietary_only:
        return ""
    return (
        f"{', '.join(open_only)} needs the open kernel module and {', '.join(proprietary_only)} the proprietary one, "
        "and a system can load only one of them: use two machines, or pass one of the cards to a virtual machine"
    )
