"""PCIe links as `lspci -vv` lists them, of which a text may hold the lines alone: what a slow or narrow one means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.text import Text

_DEVICE = regex(r"^(?:[\da-f]{4}:)?(?P<bus>[\da-f]{2}):[\da-f]{2}\.[\da-f] (?P<what>[A-Z][^\n]{2,200})$")
_BUSES = regex(r"^\s{1,12}Bus: primary=[\da-f]{2}, secondary=(?P<bus>[\da-f]{2}), ")
_LINK = regex(
    r"^\s{1,16}Lnk(?P<what>Cap|Sta):\s[^\n]{0,80}?Speed (?P<speed>[\d.]{1,6}) ?GT/s[^\n]{0,40}?, "
    r"Width x(?P<lanes>\d{1,2})"
)
_GUEST = regex(
    r"\bVMware SVGA\b|^(?:vmware|kvm|xen|microsoft|amazon|oracle)$|\bHypervisor detected: \w"
    r"|^[ \t]{0,8}(?:Virtualization|Hypervisor vendor): {1,24}(?:KVM|VMware|Xen|Microsoft|kvm|vmware|xen|microsoft)$",
    re.MULTILINE,
)
_GUESTS = ("VMware SVGA", "vmware", "kvm", "xen", "microsoft", "amazon", "oracle", "Hypervisor ", "Virtualization:")
_BRIDGES = ("PCI bridge", "Downstream Port", "Upstream Port", "Root Port")
_WORDS = ("Lnk", "Bus: primary=", ":0", ":1", ".0 ", ".1 ", ".2 ", ".3 ", ".4 ", ".5 ", ".6 ", ".7 ")


@record
class Listed:
    """A link: what its device can do, where that is told, and what it does; '' and 0 for what no line says."""

    device: str  # the words behind its address, '' where only lines of the link are shown
    bus: str
    leads_to: str  # the bus below a bridge
    able: tuple[str, int]  # speed in GT/s as printed, lanes
    now: tuple[str, int]
    line: int

    @property
    def is_bridge(self) -> bool:
        """Whether it is a bridge's, of which cards are below."""
        return any(word in self.device for word in _BRIDGES)


@kept
def listed(text: Text) -> tuple[Listed, ...]:
    """The links in the order in which they stand."""
    return tuple(_listed(text))


def _listed(text: Text) -> Iterator[Listed]:
    device = bus = leads_to = ""
    able = ("", 0)
    for index in text.lines_with(*_WORDS):
        line = text.lines[index]
        if head := _DEVICE.match(line):
            device, bus, leads_to, able = head["what"], head["bus"], "", ("", 0)
        elif buses := _BUSES.match(line):
            leads_to = buses["bus"]
        elif link := _LINK.match(line):
            values = link["speed"], int(link["lanes"])
            if link["what"] == "Cap":
                able = values
            else:
                yield Listed(device, bus, leads_to, able, values, index)
                able = ("", 0)


def filled_by_port(text: Text, offset: int) -> bool:
    """Whether the card whose link stands at `offset` uses every lane of the port above it, which has no more.

    Without the devices' lines, that is a port where no second link of as many lanes may be it.
    """
    card = _at(text, offset)
    if card is None:
        return False
    ports = [link for link in _ports(listed(text), card) if link.now[1] == card.now[1]]
    if any(not port.device for port in ports) and len(ports) > 1:
        return False
    return bool(ports) and all(port.able[1] == port.now[1] for port in ports)


def in_a_guest(text: Text) -> bool:
    """Whether the text is of a virtual machine, whose registers of links are what its hypervisor makes up."""
    return text.has(_GUEST, *_GUESTS)


def fast_elsewhere(text: Text, offset: int) -> bool:
    """Whether another look at such a card shows its link at full speed: the first was one at an idle card."""
    card = _at(text, offset)
    if card is None or not card.able[0]:
        return False
    return any(
        link.line != card.line
        and link.now[0] == card.able[0]
        and not link.is_bridge
        and (link.device == card.device or not link.able[0])
        for link in listed(text)
    )


def _at(text: Text, offset: int) -> Listed | None:
    index = text.index(offset)
    return next((link for link in listed(text) if link.line == index), None)


def _ports(links: Sequence[Listed], card: Listed) -> Iterator[Listed]:
    """The port above a card where its bus is told, else every other link that can be one."""
    above = [link for link in links if link.leads_to and link.leads_to == card.bus]
    if above:
        yield from above
        return
    for link in links:
        if link.line != card.line and link.able[1] and link.now[1] and (link.is_bridge or not link.device):
            yield link
