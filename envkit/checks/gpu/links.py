"""The PCIe links between a GPU and the root of its bus, each judged by what both of its ends can do."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.checks.gpu.gpus import SeenGpu
from envkit.model import PcieLink

_WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # other numbers stand for "does not say"


@record
class Link:
    """One link: its lower end (the GPU, or a switch) and its upper end (a port), None where nobody reported it."""

    lower: PcieLink
    upper: PcieLink | None
    lanes_of_card: int | None  # what the GPU's board has, for the first link only

    @property
    def width(self) -> int | None:
        """Lanes in use."""
        return _least(_lanes(end.width_current) for end in self._ends())

    @property
    def width_expected(self) -> int | None:
        """Lanes that both ends have."""
        return _least([self.lanes_of_card, *(_lanes(end.width_max) for end in self._ends())])

    @property
    def speed(self) -> float | None:
        """The rate now, in GT/s; lower at idle on purpose."""
        speeds = [end.speed_current for end in self._ends() if end.speed_current]
        return min(speeds, default=None)

    @property
    def speed_expected(self) -> float | None:
        """The rate that both ends have, in GT/s."""
        speeds = [end.speed_max for end in self._ends() if end.speed_max]
        return min(speeds, default=None)

    @property
    def where(self) -> str:
        """The upper end in words: its slot, where the firmware names it, and its bridge."""
        slot = self.lower.slot or (self.upper.slot if self.upper else "")
        words = [f"slot {slot}"] if slot else []
        if self.upper is not None:
            words.append(f"bridge {self.upper.pci_address}")
        return ", ".join(words) or f"the port of {self.lower.pci_address}"

    @property
    def place(self) -> str:
        """`where` with its preposition."""
        return f"in {self.where}" if self.where.startswith("slot") else f"below {self.where}"

    @property
    def described(self) -> tuple[tuple[PcieLink, str], ...]:
        """Each end with what it says of itself."""
        return tuple((end, describe(end)) for end in self._ends())

    def _ends(self) -> tuple[PcieLink, ...]:
        return (self.lower,) if self.upper is None else (self.lower, self.upper)


def describe(end: PcieLink) -> str:
    """Width and rate of one end, now and at most."""
    now = f"x{end.width_current or '?'} at {end.speed_current or '?'} GT/s"
    return f"{now}, at most x{end.width_max or '?'} at {end.speed_max or '?'} GT/s"


def links_above(gpu: SeenGpu) -> tuple[Link, ...]:
    """The links from the GPU to the root, the GPU's own first; empty where PCI was not probed.

    Ends come in pairs: the card and the port above it, a switch's upstream port and the port above that.
    """
    if gpu.pci is None or gpu.pci.link is None:
        return ()
    ends = [gpu.pci.link, *gpu.pci.hops]
    pairs = [(ends[i], ends[i + 1] if i + 1 < len(ends) else None) for i in range(0, len(ends), 2)]
    return tuple(Link(low, up, card_lanes(gpu) if i == 0 else None) for i, (low, up) in enumerate(pairs))


def card_lanes(gpu: SeenGpu) -> int | None:
    """The lanes of the card: the fewer of what it reports and what its model is built with."""
    reported = _lanes(gpu.pci.link.width_max) if gpu.pci is not None and gpu.pci.link is not None else None
    built = [model.pcie_lanes for model in gpu.models if model.pcie_lanes]
    return _least([reported, min(built, default=None)])


def narrow(link: Link) -> bool:
    """True when the link has fewer lanes than both of its ends allow."""
    return link.width is not None and link.width_expected is not None and link.width < link.width_expected


def sharers(gpu: SeenGpu, link: Link, gpus: tuple[SeenGpu, ...]) -> tuple[SeenGpu, ...]:
    """The GPUs next to it that have the missing lanes: together with this one no more than one could have alone.

    Their port is on the same bus as the upper end of `link`.
    """
    expected, width = link.width_expected, link.width
    if link.upper is None or expected is None or width is None:
        return ()
    bus = link.upper.pci_address.rpartition(":")[0]
    beside = (other for other in gpus if other is not gpu and _bus_of_port(other) == bus)
    return tuple(other for other in beside if (links_above(other)[0].width or expected) + width <= expected)


def _bus_of_port(gpu: SeenGpu) -> str | None:
    first = next(iter(links_above(gpu)), None)
    return first.upper.pci_address.rpartition(":")[0] if first is not None and first.upper is not None else None


def _lanes(width: int | None) -> int | None:
    return width if width in _WIDTHS else None


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
