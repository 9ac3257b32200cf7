"""The PCIe tree from the root ports down to the GPUs, with every link's width and speed, for drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from envkit._startup.records import record
from envkit.model import Environment, Gpu, PcieLink, PciGpu


@dataclass
class Node:
    """One device in the tree. `link` joins it to its parent; `degraded` when that link is narrower than both ends."""

    pci_address: str
    title: str
    link: str = ""
    degraded: bool = False
    gpu: bool = False
    children: dict[str, Node] = field(default_factory=dict)


@record
class Row:
    """One drawn line: the node, its depth, and the row number of its parent (-1 for a root)."""

    node: Node
    depth: int
    parent: int


def topology(environment: Environment) -> list[Row]:
    """The tree in drawing order; empty when no GPU on PCI is known."""
    roots: dict[str, Node] = {}
    if not environment.pci_gpus.known:
        return []
    nvml = {gpu.pci_address: gpu for gpu in (environment.gpus.value or ())}
    for gpu in environment.pci_gpus.get():
        level = roots
        for hop in reversed(gpu.hops):
            level = level.setdefault(hop.pci_address, _bridge(hop)).children
        level[gpu.pci_address] = _gpu(gpu, nvml.get(gpu.pci_address))
    return list(_rows(roots, 0, -1, [0]))


def _rows(level: dict[str, Node], depth: int, parent: int, counter: list[int]) -> Iterator[Row]:
    for node in level.values():
        number = counter[0]
        counter[0] += 1
        yield Row(node, depth, parent)
        yield from _rows(node.children, depth + 1, number, counter)


def _bridge(hop: PcieLink) -> Node:
    slot = f" · slot {hop.slot}" if hop.slot else ""
    return Node(hop.pci_address, (hop.name or "PCIe bridge") + slot)


def _gpu(gpu: PciGpu, nvml: Gpu | None) -> Node:
    name = (nvml.name if nvml else "") or gpu.name or f"NVIDIA device {gpu.device_id}"
    width, possible = _widths(gpu, nvml)
    return Node(
        gpu.pci_address,
        name,
        link=_words(gpu.link, width, possible),
        degraded=width is not None and possible is not None and width < possible,
        gpu=True,
    )


def _widths(gpu: PciGpu, nvml: Gpu | None) -> tuple[int | None, int | None]:
    """The width now, and the widest that both ends of the link can do."""
    card = gpu.link.width_max if gpu.link else None
    port = gpu.hops[0].width_max if gpu.hops else None
    both = [width for width in (card, port) if width]
    current = gpu.link.width_current if gpu.link else None
    if current is None and nvml is not None:
        return nvml.link_width_current, nvml.link_width_max
    return current, min(both) if both else None


def _words(link: PcieLink | None, width: int | None, possible: int | None) -> str:
    parts = []
    if width is not None:
        parts.append(f"x{width}" + (f" of x{possible}" if possible and possible != width else ""))
    if link and link.speed_current is not None:
        limit = f" of {link.speed_max:g}" if link.speed_max and link.speed_max != link.speed_current else ""
        parts.append(f"{link.speed_current:g}{limit} GT/s")
    return " · ".join(parts) or "link not known"
