"""`nvidia-smi --query-gpu=… --format=csv`: a header of query names with units, then one line per GPU.

index, name, driver_version, memory.total [MiB], pcie.link.width.current
0, NVIDIA L4, 550.90.07, 23034 MiB, 16
$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
Tesla T4, 580.95.05
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envkit._startup.regex import regex
from envkit.base.pci import pci_address
from envkit.base.versions import ComputeCapability, Version
from envkit.ingest.clues import Clue, Fact, GpuClue, Listing, reader
from envkit.ingest.smi_fields import reason_bit
from envkit.ingest.text import Text
from envkit.ingest.values import decimal, number, yes
from envkit.model import CallResult

_NAME = regex(r"([a-z][a-z0-9_.]{2,60})(?: \[[A-Za-z%]{1,12}\])?")  # of a column, with its unit
_FAMILY = regex(
    r"(?:ecc|remapped_rows|retired_pages|clocks|power|temperature|pcie?|memory|mig|utilization|encoder|fabric|inforom"
    r"|gpu_recovery_action|vbios|compute_cap|addressing_mode|display_attached)\b"
)  # of names that nvidia-smi knows, those of later releases among them
_ASKED = regex(r"--query-gpu[= ](?P<names>[a-z0-9_.,]{2,400}) [^\n]{0,80}\bnoheader\b")

_OF_ALL = regex(r"[#$>❯] ?(?:sudo )?nvidia-smi --query-gpu[= ][a-z0-9_.,]{2,400} --format[= ]csv[a-z,]{0,20}$")


@reader("nvidia-smi --query-gpu")
def read(text: Text) -> Iterator[Clue]:
    """One GPU per line below a header that holds only known query names, or below the command that asks for them."""
    if not (text.may_hold("noheader") or any(map(text.may_hold, _KNOWN))):
        return
    offset = 0
    columns: list[str] = []
    before = ""
    for line in text.lines:
        if not columns:
            columns, index = _columns(line), -1
            whole = bool(columns) and any(map(_OF_ALL.search, (before, line)))
        else:
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == len(columns):
                index += 1
                if index == 0 and whole:
                    yield Fact("driver.nvml", CallResult(0, "NVML_SUCCESS"), offset)
                yield from _row(columns, cells, index, offset)
            else:
                columns = []
        before = line
        offset += len(line) + 1


def _columns(line: str) -> list[str]:
    """The query names of a header line or of a command without one, none for any other line."""
    asked = _ASKED.search(line) if "noheader" in line else None
    if asked:
        names = asked["names"].split(",")
        return names if len(names) > 1 and all(map(_is_column, names)) else []
    first, comma, _ = line.partition(",")
    if not comma or first.partition(" ")[0] not in _KNOWN:
        return []
    named = [_NAME.fullmatch(cell.strip()) for cell in line.split(",")]
    names = [match[1] for match in named if match]
    return names if len(names) == len(named) and all(map(_is_column, names)) else []


def _is_column(name: str) -> bool:
    return name in _KNOWN or reason_bit(name) is not None or _FAMILY.match(name) is not None


def _row(columns: list[str], cells: list[str], position: int, offset: int) -> Iterator[Clue]:
    values: dict[str, object] = {}
    index: int | None = position
    slowed = 0
    for column, cell in zip(columns, cells, strict=True):
        if column == "index":
            index = number(cell)
        elif column == "driver_version" and re.fullmatch(r"\d{1,9}(?:\.\d{1,9})+", cell):
            yield Fact("driver.kernel_module", Version.parse(cell), offset)
        elif cell == "Active":
            slowed |= reason_bit(column) or 0
        elif column in _FIELDS:
            name, convert = _FIELDS[column]
            converted = None if cell.startswith("[") or cell == "N/A" else convert(cell)
            if converted not in (None, ""):
                values[name] = converted
    if slowed:  # columns that say "Not Active" speak for those reasons alone
        values.setdefault("throttle_reasons", slowed)
    if index is not None:
        yield GpuClue(Listing.DRIVER, index, values, offset)


def _mib(cell: str) -> int | None:
    amount = number(cell)
    return None if amount is None else amount * 1024 * 1024


def _capability(cell: str) -> ComputeCapability | None:
    return ComputeCapability.parse(cell) if re.fullmatch(r"\d{1,2}\.\d", cell) else None


def _bits(cell: str) -> int | None:
    return int(cell, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", cell) else None


def _mode(cell: str) -> str | None:
    return {"Default": "default", "Exclusive_Process": "exclusive-process", "Prohibited": "prohibited"}.get(cell)


_FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "name": ("name", str),
    "gpu_name": ("name", str),
    "pci.bus_id": ("pci_address", pci_address),
    "gpu_bus_id": ("pci_address", pci_address),
    "uuid": ("gpu_uuid", str),
    "gpu_uuid": ("gpu_uuid", str),
    "vbios_version": ("vbios", str),
    "compute_cap": ("compute_capability", _capability),
    "memory.total": ("memory_bytes", _mib),
    "memory.used": ("memory_used_bytes", _mib),
    "pcie.link.gen.current": ("link_generation_current", number),
    "pcie.link.gen.gpucurrent": ("link_generation_current", number),
    "pcie.link.gen.max": ("link_generation_max", number),
    "pcie.link.gen.gpumax": ("link_generation_device_max", number),
    "pcie.link.width.current": ("link_width_current", number),
    "pcie.link.width.max": ("link_width_max", number),
    "utilization.gpu": ("utilization_percent", number),
    "temperature.gpu": ("temperature_c", number),
    "power.limit": ("power_limit_w", decimal),
    "enforced.power.limit": ("power_limit_w", decimal),
    "power.default_limit": ("power_limit_default_w", decimal),
    "persistence_mode": ("persistence_mode", yes),
    "compute_mode": ("compute_mode", _mode),
    "mig.mode.current": ("mig_mode", yes),
    "ecc.mode.current": ("ecc_mode", yes),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrectable", number),
    "remapped_rows.pending": ("remapped_rows_pending", yes),
    "remapped_rows.failure": ("remapped_rows_failed", yes),
    "retired_pages.pending": ("retired_pages_pending", yes),
    "clocks_throttle_reasons.active": ("throttle_reasons", _bits),
    "clocks_event_reasons.active": ("throttle_reasons", _bits),
    "display_active": ("display_active", yes),
}
_IGNORED = frozenset(
    {
        "index", "driver_version", "timestamp", "count", "serial", "pstate", "memory.free",
        "utilization.memory", "temperature.memory", "power.draw", "fan.speed", "clocks.sm", "clocks.gr", "clocks.mem",
        "clocks.max.sm", "clocks.max.mem", "clocks.current.sm", "clocks.current.memory", "power.max_limit",
        "power.min_limit", "memory.reserved", "pcie.link.gen.hostmax", "pci.device_id", "pci.sub_device_id",
        "display_mode", "driver_model.current", "gpu_serial",
    }
)  # fmt: skip
_KNOWN = _IGNORED.union(_FIELDS)
