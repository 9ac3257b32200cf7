"""What cards that train together send each other in a step, and how long that takes at best."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.advice.memory import Need, size_of
from envkit.base.durations import duration
from envkit.tables.codes import gigabytes_per_second

_SUMMED, _GATHERED = 2, 3  # passes over the gradients: to sum and hand out; with weights that are gathered twice


@record
class Exchange:
    """The bytes that each card sends in a step, over which link, and in how many seconds at best."""

    size: float
    link: str
    seconds: float

    @property
    def told(self) -> str:
        """The time in words."""
        return duration(self.seconds)


def exchange_of(need: Need, card: Card, gpus: int, *, split: bool) -> Exchange | None:
    """What so many cards exchange to train, by rings; None where nothing is trained or no link is known.

    A module has NVLink on its board. A card for a slot has PCIe for certain, and NVLink only with a bridge.
    """
    gradients = size_of(need, "gradients")
    link = _link(card)
    if not gradients or link is None:
        return None
    name, rate = link
    size = (_GATHERED if split else _SUMMED) * (gpus - 1) / gpus * gradients
    return Exchange(size, name, size / (rate * 1e9))


def _link(card: Card) -> tuple[str, float] | None:
    """The link that the card has without any bridge, and its GB/s one way."""
    nvlink = card.board.nvlink_gbs if card.board and card.form == "module" else None
    if nvlink:
        return "NVLink", nvlink / 2  # the figure counts both ways
    generation, lanes = card.model.pcie_generation, card.model.pcie_lanes
    rate = gigabytes_per_second(generation, lanes) if generation and lanes else None
    return (f"PCIe {generation}.0 x{lanes}", rate) if rate else None
