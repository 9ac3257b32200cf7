"""The cards that a machine has already, with the links that carry them."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.advice.build import Present
from envkit.advice.cards import Card
from envkit.base.pci import pci_address
from envkit.model import Environment, PciGpu
from envkit.tables import Matrix
from envkit.tables.codes import generation_of


def present_gpus(environment: Environment, cards: Iterable[Card], matrix: Matrix) -> tuple[tuple[Present, ...], int]:
    """The machine's GPUs that are known, by their names from the driver or else their PCI ids; how many are not."""
    by_model = {(card.model.name, card.model.variant): card for card in cards}
    names = {pci_address(gpu.pci_address): gpu.name for gpu in environment.gpus.value or ()}
    seen = environment.pci_gpus.value or ()
    places = [(gpu, names.pop(gpu.pci_address, ""), gpu.device_id) for gpu in seen]
    found, unknown = [], 0
    for gpu, name, device_id in [*places, *((None, name, "") for name in names.values())]:
        models = matrix.gpus_by_device_id(device_id) if device_id else ()
        model = (matrix.gpu_by_name(name) if name else None) or (models[0] if models else None)
        if model is None:
            unknown += 1
        else:
            found.append(Present(by_model[model.name, model.variant], *(_link(gpu) if gpu else ())))
    return tuple(found), unknown


def _link(gpu: PciGpu) -> tuple[int | None, int | None]:
    links = [link for link in (gpu.link, *gpu.hops) if link is not None]
    lanes = [link.width_max for link in links if link.width_max]
    rows = [row for link in links if link.speed_max and (row := generation_of(link.speed_max))]
    return min(lanes, default=None), min((row.generation for row in rows), default=None)
