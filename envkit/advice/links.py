"""The link over which a card reaches the others of its kind."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.tables.codes import gigabytes_per_second


@record
class Link:
    """A link, and its GB/s one way."""

    name: str
    rate: float


def link_of(card: Card) -> Link | None:
    """The link that the card has without any bridge, None where none is known.

    A module has NVLink on its board. A card for a slot has PCIe for certain, and NVLink only with a bridge.
    """
    nvlink = card.board.nvlink_gbs if card.board and card.form == "module" else None
    if nvlink:
        return Link("NVLink", nvlink / 2)  # the figure counts both ways
    generation, lanes = card.model.pcie_generation, card.model.pcie_lanes
    rate = gigabytes_per_second(generation, lanes) if generation and lanes else None
    return Link(f"PCIe {generation}.0 x{lanes}", rate) if rate else None
