"""What a GPU is plugged into: a card has a slot, power cables, perhaps a riser; an SXM module has none of them."""

from __future__ import annotations

from envkit.checks.gpu.gpus import gpus_of, on_nvswitch_board
from envkit.model import Environment

BARE = "SXM modules have no power cables, riser, or other slot to check"


def are_modules(environment: Environment) -> bool:
    """Whether every GPU that is told is such a module."""
    names = [gpu.name for gpu in gpus_of(environment)] or [gpu.name for gpu in environment.pci_gpus.value or ()]
    return bool(names) and all(map(on_nvswitch_board, names))


def seat_words(environment: Environment, of_card: str, of_module: str = f"{BARE}: contact the vendor.") -> str:
    """The advice for the kind that these GPUs are."""
    return of_module if are_modules(environment) else of_card
