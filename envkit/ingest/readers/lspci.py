"""`lspci` in its plain, -nn, -k and -vv forms: NVIDIA's display functions, their driver and link.

65:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)
        LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM not supported
        LnkSta: Speed 2.5GT/s (downgraded), Width x8 (downgraded)
        Kernel driver in use: nvidia
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS, pci_address
from envkit.ingest.answers import PROMPT
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind, PcieLink, PciGpu

_DEVICE = regex(
    rf"^(?P<address>{ADDRESS}) (?P<kind>[A-Z0-9][\w /.-]{{2,60}}?)(?: \["
    r"(?P<class>[0-9a-f]{4})\])?: (?P<what>[^\n]{2,300})$"
)
_ID = regex(r"\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]")
_SUBSYSTEM = regex(r"^\s{1,12}Subsystem: [^\n]{0,200}?\[(?P<id>[0-9a-f]{4}:[0-9a-f]{4})\]")
_DRIVER = regex(r"^\s{1,12}Kernel driver in use: (?P<driver>[\w-]{2,40})$")
_CAPABLE = regex(
    r"^\s{1,16}LnkCap:\s[^\n]{0,80}?Speed (?P<speed>\d{1,9}(?:\.\d{1,9})?)GT/s[^\n]{0,40}?, Width x(?P<width>\d{1,2})"
)
_STATUS = regex(
    r"^\s{1,16}LnkSta:\s[^\n]{0,20}?Speed (?P<speed>\d{1,9}(?:\.\d{1,9})?)GT/s[^\n]{0,20}?, Width x(?P<width>\d{1,2})"
)
_REGION = regex(
    r"^\s{1,12}Region (?P<bar>\d): Memory at (?P<place><?[\w]{1,20}>?) [^\n]{0,60}?(?:\[size=(?P<size>\d{1,4})"
    r"(?P<unit>[KMGT])\])?$"
)
_RESIZABLE = regex(r"^\s{1,16}BAR [12]: current size: \d{1,4}[KMG]B, supported: ")
_BUSES = regex(r"^\s{1,12}Bus: primary=[0-9a-f]{2}, secondary=(?P<bus>[0-9a-f]{2}), ")
_BRIDGE = "PCI bridge"
_ACS = regex(r"^\s{1,16}ACSCtl:\s[^\n]{0,60}ReqRedir\+")
_ASKED = regex(
    r"^[^\n]{0,100}[#$>] ?(?:sudo )?lspci(?: -[nkv]{1,3})? ?\| ?(?:e?grep|rg) (?:-\w{1,3} ){1,2}"
    r"(?:[\"']?nvidia[\"']?|[\"']?[^\n|]{0,12}(?:vga\\?\|(?:[^\n'\"]{1,20}\|)?3d|3d\\?\|(?:[^\n'\"]{1,20}\|)?vga)[^\n]{0,24})$",
    re.IGNORECASE | re.MULTILINE,
)  # of both kinds of displays, or of the vendor; and nothing else on the line
_DISPLAY = ("VGA compatible controller", "3D controller", "Display controller")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_CLASSES = {"VGA compatible controller": "0300", "3D controller": "0302", "Display controller": "0380"}
_UNPLACED = ("<unassigned>", "<ignored>")
_EMULATED = regex(r"^Red Hat, Inc\. (?:QEMU|Virtio)|^VMware |^InnoTek Systemberatung |\bQEMU\b")
_FIRST = f":{0:02}.{0}"  # device and function at the head of a bus
_WHOLE = 8  # devices: fewer are no whole listing of a machine


@reader("lspci")
def read(text: Text) -> Iterator[Clue]:
    """Each NVIDIA display function; that there is none only where a whole listing was shown."""
    filtered = _filtered_out(text)
    if filtered >= 0:
        yield Fact("pci_gpus", (), filtered)
    if not text.holds("NVIDIA") and not text.holds("ost bridge"):
        return
    blocks = list(_blocks(text))
    gpus, first = 0, dict[str, str]()
    for number, (device, details, offset) in enumerate(blocks):
        if device["kind"] in _DISPLAY and ("NVIDIA" in device["what"] or "[10de:" in device["what"]):
            gpus += 1
            gpu = _gpu(device, details)
            gpu = replace(gpu, hops=tuple(_port_above(gpu, blocks, number)))
            if _virtual_function(gpu, first):
                continue
            first.setdefault(gpu.pci_address, gpu.name)
            yield Item("pci_gpus", gpu.pci_address, gpu, offset)
    redirecting = [pci_address(device["address"]) for device, details, _ in blocks if any(map(_ACS.match, details))]
    if redirecting:
        yield Fact("kernel.acs_redirect", tuple(redirecting), blocks[0][2])
    emulated = next((offset for device, _, offset in blocks if _EMULATED.search(device["what"])), None)
    if emulated is not None:
        yield Fact("system.machine_kind", MachineKind.VM, emulated)
    if not gpus and _whole(text, blocks):
        yield Fact("pci_gpus", (), blocks[0][2])


def _filtered_out(text: Text) -> int:
    """Where `lspci`, asked for each NVIDIA device or each display, shows none from NVIDIA; -1 where it shows one."""
    found = -1
    for match in text.matches(_ASKED, "lspci"):
        index = text.index(match.start())
        end = next((number for number in range(index + 1, len(text.lines)) if PROMPT.match(text.lines[number])), 0)
        below = text.lines[index + 1 : end]
        if not end or any("NVIDIA" in line or "10de" in line or not _DEVICE.match(line) for line in below):
            return -1
        found = match.start()
    return found


def _blocks(text: Text) -> Iterator[tuple[re.Match[str], list[str], int]]:
    current: tuple[re.Match[str], list[str], int] | None = None
    position = 0
    for line in text.lines:
        match = _DEVICE.match(line) if line[:1] in _HEX else None
        if match:
            if current:
                yield current
            current = (match, [], position)
        elif current and line[:1] in (" ", "\t"):
            current[1].append(line)
        elif current and line:
            yield current
            current = None
        position += len(line) + 1
    if current:
        yield current


def _virtual_function(gpu: PciGpu, first: Mapping[str, str]) -> bool:
    """Whether it is a part of the card at the head of its bus, which the host of virtual GPUs cut it into (SR-IOV)."""
    head = f"{gpu.pci_address.rpartition(':')[0]}{_FIRST}"
    return gpu.pci_address != head and bool(gpu.name) and first.get(head) == gpu.name


_HEX = frozenset("0123456789abcdef")


def _gpu(device: re.Match[str], details: list[str]) -> PciGpu:
    ids = _ID.search(device["what"])
    driver = next((match["driver"] for match in map(_DRIVER.match, details) if match), None)
    if driver is None and any("Kernel modules:" in line for line in details):
        driver = ""  # -k was given, and no driver has the device
    subsystem = next((match["id"] for match in map(_SUBSYSTEM.match, details) if match), "")
    address = pci_address(device["address"])
    link = _link(address, details)
    regions = [match for match in map(_REGION.match, details) if match]
    return PciGpu(
        address,
        ids["device"].upper() if ids else "",
        device["class"] or _CLASSES[device["kind"]],
        subsystem.upper(),
        driver,
        link,
        bars_assigned=all(match["place"] not in _UNPLACED for match in regions) if regions else None,
        bar1_bytes=_size(regions[1]) if len(regions) > 1 else None,  # the window onto the memory, whatever its number
        bar1_resizable=True if any(map(_RESIZABLE.match, details)) else None,
        config_readable=False if "(rev ff)" in device["what"] else None,
        name=_model(device["what"]),
    )


def _link(address: str, details: list[str]) -> PcieLink | None:
    capable = next(filter(None, map(_CAPABLE.match, details)), None)
    status = next(filter(None, map(_STATUS.match, details)), None)
    if not (capable or status):
        return None
    return PcieLink(
        address,
        "",
        float(status["speed"]) if status else None,
        float(capable["speed"]) if capable else None,
        int(status["width"]) if status else None,
        int(capable["width"]) if capable else None,
    )


def _port_above(gpu: PciGpu, blocks: list[tuple[re.Match[str], list[str], int]], number: int) -> Iterator[PcieLink]:
    """The port of the GPU's bus; of a few devices that somebody picked, the one before it, whose link is the same."""
    bus = gpu.pci_address.split(":")[1]
    for at, (device, details, _) in enumerate(blocks):
        if gpu.link is None or device["kind"] != _BRIDGE:
            continue
        link = _link(pci_address(device["address"]), details)
        below = next(filter(None, map(_BUSES.match, details)), None)
        near = below is None and at == number - 1
        if link and (below["bus"] == bus if below else near and _same_state(link, gpu.link)):
            yield link
            return


def _same_state(one: PcieLink, other: PcieLink) -> bool:
    """Whether both ends report one width and one rate: those of one link do."""
    states = [(end.width_current, end.speed_current) for end in (one, other)]
    return states[0] == states[1] and None not in states[0]


def _size(region: re.Match[str]) -> int | None:
    return int(region["size"]) * _UNITS[region["unit"]] if region["size"] else None


def _model(what: str) -> str:
    """`GeForce RTX 3090` of `NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)`."""
    names = [name for name in re.findall(r"\[([^\[\]:]{3,80})\]", what) if "/" not in name]
    return names[0] if len(names) == 1 else ""


def _whole(text: Text, blocks: list[tuple[re.Match[str], list[str], int]]) -> bool:
    """A listing from the host bridge on, in order, with something else after it: nothing was cut off or mixed up."""
    if len(blocks) < _WHOLE or "ost bridge" not in blocks[0][0]["kind"]:
        return False
    addresses = [pci_address(device["address"]) for device, _, _ in blocks]
    after = text.lines[text.index(blocks[-1][2]) + len(blocks[-1][1]) + 1 :]
    return addresses == sorted(addresses) and any(line.strip() for line in after)
