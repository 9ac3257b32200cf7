"""`nvidia-smi -q`: a tree of `Name : value` lines, indented by four blanks per level, one block per GPU.

Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA RTX A4000
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 8x
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from envkit.facts import CallResult
from envkit.ingest.clues import Clue, Fact, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.text import Text
from envkit.ingest.values import decimal, number, pci_address, yes
from envkit.regex import regex
from envkit.versions import Version

_BLOCK = regex(r"^GPU (?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ ]{0,4}$", re.MULTILINE)
_LINE = regex(r"^(?P<indent> {2,40})(?P<key>[^\s:][^:\n]{0,60}?)(?: {0,40}: ?(?P<value>[^\n]*))?$")
_TOP = regex(
    r"^(?P<key>Driver Version|KMD Version|CUDA Version|CUDA UMD Version|Attached GPUs) {2,40}: (?P<value>\S+)",
    re.MULTILINE,
)
_WIDTH = regex(r"(\d{1,2})x")
_LIMIT = 1200  # lines of one GPU's block

# NVML's clock event bits by the names that -q gives them.
_REASONS = {
    "Idle": 0x1,
    "Applications Clocks Setting": 0x2,
    "SW Power Cap": 0x4,
    "HW Slowdown": 0x8,
    "Sync Boost": 0x10,
    "SW Thermal Slowdown": 0x20,
    "HW Thermal Slowdown": 0x40,
    "HW Power Brake Slowdown": 0x80,
    "Display Clock Setting": 0x100,
}


@reader("nvidia-smi -q")
def read(text: Text) -> Iterator[Clue]:
    """The driver's versions and every GPU's block."""
    attached = None
    for match in text.matches(_TOP, "Version ", "Attached GPUs"):
        if match["key"] == "Attached GPUs":
            attached = number(match["value"])
        elif re.fullmatch(r"\d+(?:\.\d+)+", match["value"]):
            cuda = match["key"].startswith("CUDA")
            path = "driver.driver_cuda_version" if cuda else "driver.kernel_module"
            yield Fact(path, Version.parse(match["value"]), match.start())
    blocks = list(text.matches(_BLOCK, "GPU "))
    for match in blocks:
        yield Fact("driver.nvml", CallResult(0, "NVML_SUCCESS"), match.start())
        values = {"pci_address": pci_address(match["address"])} | _values(_tree(text, match))
        yield GpuClue(Listing.DRIVER, None, values, match.start())
    if blocks and (attached is None or attached > len(blocks)):
        yield GpusIncomplete(blocks[0].start())


def _tree(text: Text, block: re.Match[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The path of headings and the value of every line of a block."""
    start = text.index(block.start()) + 1
    parents: list[tuple[int, str]] = []
    for line in text.lines[start : start + _LIMIT]:
        if line and not line.startswith("  "):
            return
        match = _LINE.match(line)
        if not match:
            continue
        depth = len(match["indent"])
        while parents and parents[-1][0] >= depth:
            parents.pop()
        if match["value"] is None:
            parents.append((depth, match["key"]))
        else:
            yield (*(name for _, name in parents), match["key"]), match["value"].strip()
            parents.append((depth, match["key"]))


def _values(tree: Iterator[tuple[tuple[str, ...], str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    reasons: int | None = None
    pids: list[int] | None = None
    for path, value in tree:
        for name, wanted, convert in _FIELDS:
            if name not in values and path[-len(wanted) :] == wanted:
                converted = convert(value)
                if converted is not None:
                    values[name] = converted
        if any(name.endswith("Reasons") for name in path[:-1]) and path[-1] in _REASONS:
            reasons = (reasons or 0) | (_REASONS[path[-1]] if value == "Active" else 0)
        if path[-1] == "Process ID" and number(value) is not None:
            pids = [*(pids or []), number(value) or 0]
        if path[-1] == "Processes" and value == "None":
            pids = []
    if reasons is not None:
        values["throttle_reasons"] = reasons
    if pids is not None:
        values["processes"] = tuple(pids)
    return values


def _width(value: str) -> int | None:
    match = _WIDTH.fullmatch(value)
    return int(match.group(1)) if match else None


def _generation(value: str) -> int | None:
    return int(value) if value.isdigit() and 0 < int(value) < 8 else None


def _mib(value: str) -> int | None:
    amount = number(value)
    return amount * 1024 * 1024 if amount is not None and value.endswith("MiB") else None


def _watts(value: str) -> float | None:
    return decimal(value) if value.endswith("W") else None


def _word(value: str) -> str | None:
    return None if value in ("N/A", "") or value.startswith("[") else value


def _mode(value: str) -> str | None:
    return {
        "Default": "default",
        "Exclusive_Process": "exclusive-process",
        "Exclusive Process": "exclusive-process",
        "Exclusive_Thread": "exclusive-thread",
        "Prohibited": "prohibited",
    }.get(value)


def _licensed(value: str) -> bool | None:
    return {"Licensed": True, "Unlicensed": False}.get(value.split(" (")[0])


_FIELDS: tuple[tuple[str, tuple[str, ...], Callable[[str], object]], ...] = (
    ("name", ("Product Name",), _word),
    ("gpu_uuid", ("GPU UUID",), _word),
    ("display_active", ("Display Active",), yes),
    ("persistence_mode", ("Persistence Mode",), yes),
    ("mig_mode", ("MIG Mode", "Current"), yes),
    ("link_generation_max", ("PCIe Generation", "Max"), _generation),
    ("link_generation_current", ("PCIe Generation", "Current"), _generation),
    ("link_generation_device_max", ("PCIe Generation", "Device Max"), _generation),
    ("link_width_max", ("Link Width", "Max"), _width),
    ("link_width_current", ("Link Width", "Current"), _width),
    ("pcie_replays", ("Replays Since Reset",), number),
    ("memory_bytes", ("FB Memory Usage", "Total"), _mib),
    ("memory_used_bytes", ("FB Memory Usage", "Used"), _mib),
    ("compute_mode", ("Compute Mode",), _mode),
    ("utilization_percent", ("Utilization", "Gpu"), number),
    ("utilization_percent", ("Utilization", "GPU"), number),
    ("ecc_mode", ("ECC Mode", "Current"), yes),
    ("ecc_mode", ("Ecc Mode", "Current"), yes),
    ("ecc_uncorrectable", ("Volatile", "DRAM Uncorrectable"), number),
    ("ecc_uncorrectable", ("Volatile", "Double Bit", "Total"), number),
    ("retired_pages_pending", ("Retired Pages", "Pending Page Blacklist"), yes),
    ("retired_pages_pending", ("Retired Pages", "Pending"), yes),
    ("remapped_rows_pending", ("Remapped Rows", "Pending"), yes),
    ("remapped_rows_failed", ("Remapped Rows", "Remapping Failure Occurred"), yes),
    ("temperature_c", ("GPU Current Temp",), number),
    ("power_limit_w", ("Enforced Power Limit",), _watts),
    ("power_limit_w", ("Current Power Limit",), _watts),
    ("power_limit_default_w", ("Default Power Limit",), _watts),
    ("virtualization_mode", ("Virtualization Mode",), _word),
    ("licensed", ("License Status",), _licensed),
    ("fabric_state", ("Fabric", "State"), _word),
)
