"""NVIDIA devices on PCI as sysfs shows them, with no driver needed, and every link from the GPU up to the root."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.pci import pci_address
from envkit.base.versions import ComputeCapability
from envkit.host.base import Host
from envkit.model import Observed, PcieLink, PciGpu, Problem, found, missing
from envkit.probe.text import Facts, derived

Known = tuple[str, ComputeCapability | None]
DeviceTable = Callable[[str], Known | None]  # by device id, four hex digits in upper case

PATHS = (
    "pci_gpus",
    "driver.nvswitches",
    "kernel.acs_redirect",
)
DEVICES = "/sys/bus/pci/devices"
_NUMBER = regex(r"\d+(?:\.\d+)?")
_UNASSIGNED = 0x20000000  # IORESOURCE_UNSET
_MEMORY = 0x200  # IORESOURCE_MEM; no program needs the I/O region, which many machines leave without address
_EXTENDED_CONFIG = 0x100
_ACS = 0x000D
_ACS_REDIRECT = 0x0C  # request redirect, completion redirect
NVSWITCH_CLASS = "0680"


def unknown_device(device_id: str) -> Known | None:
    """A table that knows no device."""
    return None


def probe(host: Host, table: DeviceTable = unknown_device, asleep: Mapping[str, str] | None = None) -> Facts:
    """`pci_gpus`, `driver.nvswitches`, `kernel.acs_redirect`.

    `asleep` holds power states that were read before anybody woke a GPU, by address.
    """
    names = host.list_dir(DEVICES)
    if names.value is None:
        problem: Observed[None] = derived(names, lambda value: None)
        return {"pci_gpus": problem, "driver.nvswitches": problem, "kernel.acs_redirect": problem}
    classes = {name: _nvidia_class(host, name) for name in names.value}
    slots = _slots(host)
    cards = (name for name, kind in classes.items() if kind.startswith("03") and not _lent(host, name))
    found_gpus = (_gpu(host, name, classes[name], table, slots) for name in cards)
    gpus = tuple(replace(gpu, power_state=(asleep or {}).get(gpu.pci_address, gpu.power_state)) for gpu in found_gpus)
    switches = sum(kind == NVSWITCH_CLASS for kind in classes.values())
    return {
        "pci_gpus": found(gpus, DEVICES),
        "driver.nvswitches": found(switches, DEVICES),
        "kernel.acs_redirect": _acs_redirect(host, gpus),
    }


def _nvidia_class(host: Host, name: str) -> str:
    """The PCI class in four hex digits of an NVIDIA device, '' of any other."""
    if _text(host, name, "vendor").lower() != "0x10de":
        return ""
    return _text(host, name, "class").removeprefix("0x")[:4]


def _lent(host: Host, name: str) -> bool:
    """True for a part of a GPU that a virtual machine can be given (SR-IOV): no GPU of its own."""
    return host.read_link(f"{DEVICES}/{name}/physfn").known


def _text(host: Host, name: str, file: str) -> str:
    return (host.read_text(f"{DEVICES}/{name}/{file}", 4096).value or "").strip()


def _gpu(host: Host, name: str, kind: str, table: DeviceTable, slots: dict[str, str]) -> PciGpu:
    path = host.real_path(f"{DEVICES}/{name}").value or f"{DEVICES}/{name}"
    bridges = [part for part in path.split("/")[:-1] if part and pci_address(part) == part]
    device = _text(host, name, "device").removeprefix("0x").upper()
    driver = host.real_path(f"{DEVICES}/{name}/driver").value or ""
    numa = _text(host, name, "numa_node")
    power = _text(host, name, "power_state")
    model = table(device)
    resources = _resources(host, name)
    window = _second_memory(resources)
    return PciGpu(
        name,
        device,
        kind,
        _text(host, name, "subsystem_device").removeprefix("0x").upper(),
        driver.rsplit("/", 1)[-1],
        _link(host, name, slots),
        tuple(_link(host, bridge, slots) for bridge in reversed(bridges)),
        int(numa) if numa.isdigit() else None,  # -1: the machine does not say
        power,
        None if power == "D3cold" else _config_readable(host, name),  # reading it would wake the GPU
        _assigned(resources),
        None if window is None or not resources[window][1] else resources[window][1] - resources[window][0] + 1,
        _aer(host, name),
        model[0] if model else "",
        model[1] if model else None,
        None if window is None else host.status(f"{DEVICES}/{name}/resource{window}_resize").known,
    )


def _link(host: Host, name: str, slots: dict[str, str]) -> PcieLink:
    identity = f"{_text(host, name, 'vendor')}:{_text(host, name, 'device')}".replace("0x", "")
    return PcieLink(
        name,
        identity if identity != ":" else "",
        link_rate(_text(host, name, "current_link_speed")),
        link_rate(_text(host, name, "max_link_speed")),
        link_width(_text(host, name, "current_link_width")),
        link_width(_text(host, name, "max_link_width")),
        slots.get(name.rsplit(".", 1)[0], ""),
    )


def link_rate(text: str) -> float | None:
    """GT/s from `16.0 GT/s PCIe`, `8 GT/s`, `Unknown`."""
    match = _NUMBER.match(text)
    return float(match.group()) if match else None


def link_width(text: str) -> int | None:
    """Lanes; 0 and 255 stand for a link that is down or a device that does not say."""
    return int(text) if text.isdigit() and 0 < int(text) < 255 else None


def _slots(host: Host) -> dict[str, str]:
    """Slot names by the address (without function) that the firmware gives them."""
    slots = {}
    for path in host.glob("/sys/bus/pci/slots/*/address"):
        address = host.read_text(path).value
        if address:
            slots[address.strip()] = path.split("/")[-2]
    return slots


def _resources(host: Host, name: str) -> list[tuple[int, int, int]]:
    """Start, end and flags of every region."""
    lines = (line.split() for line in _text(host, name, "resource").splitlines())
    try:
        return [(int(line[0], 16), int(line[1], 16), int(line[2], 16)) for line in lines if len(line) == 3]
    except ValueError:
        return []


def _second_memory(resources: list[tuple[int, int, int]]) -> int | None:
    """The line of the window onto the GPU's memory (BAR1): the second memory region. The first may take two lines."""
    regions = [number for number, (_, _, flags) in enumerate(resources[:6]) if flags & _MEMORY]
    return regions[1] if len(regions) > 1 else None


def _assigned(resources: list[tuple[int, int, int]]) -> bool | None:
    """False when a memory region of the device (the first six lines) has no addresses."""
    regions = [region for region in resources[:6] if region[2] & _MEMORY]
    if not regions:
        return None
    return not any(flags & _UNASSIGNED or end == 0 for _, end, flags in regions)


def _config_readable(host: Host, name: str) -> bool | None:
    """False when the vendor id in config space reads ffff: the device no longer answers."""
    config = host.read_bytes(f"{DEVICES}/{name}/config", 64)
    return config.value[:2] != b"\xff\xff" if config.value else None


def _aer(host: Host, name: str) -> dict[str, int]:
    """Error totals by kind: the `TOTAL_ERR_…` line of each counter file."""
    totals = {}
    for kind in ("correctable", "fatal", "nonfatal"):
        match = re.search(r"^TOTAL_ERR_\w+ (\d+)", _text(host, name, f"aer_dev_{kind}"), re.MULTILINE)
        if match:
            totals[kind] = int(match.group(1))
    return totals


def _acs_redirect(host: Host, gpus: tuple[PciGpu, ...]) -> Observed[tuple[str, ...]]:
    """Bridges above GPUs whose ACS control redirects requests; the extended config space is for root only."""
    bridges = dict.fromkeys(link.pci_address for gpu in gpus for link in gpu.hops)
    redirecting = []
    for bridge in bridges:
        config = host.read_bytes(f"{DEVICES}/{bridge}/config", 4096)
        if config.value is None or len(config.value) <= _EXTENDED_CONFIG:
            return missing(config.problem or Problem.DENIED, f"{DEVICES}/{bridge}/config", "for root only")
        if _redirects(config.value):
            redirecting.append(bridge)
    if not bridges:
        return missing(Problem.ABSENT, DEVICES, "no bridge above a GPU")
    return found(tuple(redirecting), f"{DEVICES}/*/config")


def _redirects(config: bytes) -> bool:
    """True when the control register of ACS redirects requests."""
    at = _acs_at(config)
    return at is not None and bool(int.from_bytes(config[at + 6 : at + 8], "little") & _ACS_REDIRECT)


def _acs_at(config: bytes) -> int | None:
    """Where ACS is in the list of extended capabilities."""
    offset = _EXTENDED_CONFIG
    for _ in range(64):  # a list in a circle must end too
        header = int.from_bytes(config[offset : offset + 4], "little")
        if header & 0xFFFF == _ACS:
            return offset
        offset = header >> 20
        if offset < _EXTENDED_CONFIG:
            break
    return None


def kept_config(config: bytes) -> bytes:
    """Vendor and device, and ACS as the only extended capability, for a recording: another one is a serial number."""
    kept = config[:4].ljust(min(len(config), _EXTENDED_CONFIG), b"\0")
    if len(config) <= _EXTENDED_CONFIG:
        return kept
    at = _acs_at(config)
    control = config[at + 4 : at + 8] if at is not None else b"\0\0\0\0"
    return kept + (_ACS if at is not None else 0).to_bytes(4, "little") + control
