"""What `nvidia-smi -q` tells of a GPU, by the headings of its text and by the tags of its XML (`-q -x`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.ingest.values import decimal, number, yes
from envkit.model.clock_reasons import NAMES

Path = tuple[str, ...]  # headings or tags, the value's own last
_LICENSE = ("vGPU Software Licensed Product", "Product Name")  # which is not that of the GPU
_WIDTH = regex(r"(\d{1,2})x")


class Spelling(Enum):
    """Whose words a path is in."""

    TEXT = "text"
    XML = "xml"


@record
class _Field:
    """A field of `facts.Gpu`, the end of its path in each spelling, and what makes its value of the text."""

    name: str
    text: Path
    xml: Path
    convert: Callable[[str], object]

    def path(self, spelling: Spelling) -> Path:
        return self.text if spelling is Spelling.TEXT else self.xml


def gpu_values(tree: Iterable[tuple[Path, str]], spelling: Spelling) -> dict[str, Any]:
    """The fields of `facts.Gpu` that the paths and values of one GPU's block tell."""
    values: dict[str, Any] = {}
    for path, value in tree:
        if any(_plain(name) in ("mig-devices", "mig-device", "mig_devices") for name in path[:-1]):
            continue  # an instance has memory, counters and processes of its own
        if path[-2:] == _LICENSE:
            continue
        for field in _ending_in(spelling).get(path[-1], ()):
            wanted = field.path(spelling)
            if field.name not in values and path[-len(wanted) :] == wanted:
                converted = field.convert(value)
                if converted is not None:
                    values[field.name] = converted
        _count(values, path, value)
    status = values.pop("fabric_status", "success")
    if values.get("fabric_state") == "completed" and status != "success":
        values["fabric_state"] = "failed"  # joined in vain
    return values


@cache
def _ending_in(spelling: Spelling) -> dict[str, tuple[_Field, ...]]:
    """The fields by the last heading or tag of their path."""
    fields: dict[str, tuple[_Field, ...]] = {}
    for field in _FIELDS:
        for last in field.path(spelling)[-1:]:
            fields[last] = (*fields.get(last, ()), field)
    return fields


def _count(values: dict[str, Any], path: Path, value: str) -> None:
    """What several lines tell together: reasons for lower clocks, errors of a kind, processes."""
    bit, amount, last = _reason(path), number(value), path[-1].lower()
    if bit is not None:
        values["throttle_reasons"] = values.get("throttle_reasons", 0) | (bit if value == "Active" else 0)
    elif amount is not None and "uncorrectable" in last and any(name.lower() == "volatile" for name in path[:-1]):
        values["ecc_uncorrectable"] = values.get("ecc_uncorrectable", 0) + amount
    elif amount is not None and last in ("process id", "pid"):
        values["processes"] = (*values.get("processes", ()), amount)
    elif last == "processes" and value in ("None", ""):
        values.setdefault("processes", ())


def reason_bit(column: str) -> int | None:
    """The bit of NVML that a query column stands for: 0x40 for `clocks_event_reasons.hw_thermal_slowdown`."""
    group, _, name = column.partition(".")
    if group not in ("clocks_throttle_reasons", "clocks_event_reasons"):
        return None
    return next((bit for bit, _, xml in NAMES if f"_reason_{name}" == xml), None)


def _reason(path: Path) -> int | None:
    """The bit of NVML that a line below the clocks' reasons stands for."""
    if any(name.lower().endswith("reasons") for name in path[:-1]) or path[-1] in _ALONE:
        return next((bit for bit, text, xml in NAMES if path[-1] == text or path[-1].endswith(xml)), None)
    return None


_ALONE = ("SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown")  # nothing else is called so


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


def _plain(value: str) -> str | None:
    """`Completed` and `In Progress` in the words that NVML's numbers have here."""
    word = _word(value)
    return None if word is None else word.lower().replace(" ", "-")


def _virtualization(value: str) -> str | None:
    """`Pass-Through`, `VGPU`, `Host VGPU`, `None`."""
    return {"pass-through": "passthrough"}.get(value.lower(), _plain(value))


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


_FIELDS = (
    _Field("name", ("Product Name",), ("product_name",), _word),
    _Field("gpu_uuid", ("GPU UUID",), ("gpu", "uuid"), _word),
    _Field("vbios", ("VBIOS Version",), ("vbios_version",), _word),
    _Field("display_active", ("Display Active",), ("display_active",), yes),
    _Field("persistence_mode", ("Persistence Mode",), ("persistence_mode",), yes),
    _Field("mig_mode", ("MIG Mode", "Current"), ("mig_mode", "current_mig"), yes),
    _Field("link_generation_max", ("PCIe Generation", "Max"), ("pcie_gen", "max_link_gen"), _generation),
    _Field("link_generation_current", ("PCIe Generation", "Current"), ("pcie_gen", "current_link_gen"), _generation),
    _Field("link_generation_device_max", ("PCIe Generation", "Device Max"), ("max_device_link_gen",), _generation),
    _Field("link_width_max", ("Link Width", "Max"), ("link_widths", "max_link_width"), _width),
    _Field("link_width_current", ("Link Width", "Current"), ("link_widths", "current_link_width"), _width),
    _Field("pcie_replays", ("Replays Since Reset",), ("pci", "replay_counter"), number),
    _Field("memory_bytes", ("FB Memory Usage", "Total"), ("fb_memory_usage", "total"), _mib),
    _Field("memory_used_bytes", ("FB Memory Usage", "Used"), ("fb_memory_usage", "used"), _mib),
    _Field("memory_reserved_bytes", ("FB Memory Usage", "Reserved"), ("fb_memory_usage", "reserved"), _mib),
    _Field("compute_mode", ("Compute Mode",), ("compute_mode",), _mode),
    _Field("utilization_percent", ("Utilization", "Gpu"), ("utilization", "gpu_util"), number),
    _Field("utilization_percent", ("Utilization", "GPU"), (), number),
    _Field("ecc_mode", ("ECC Mode", "Current"), ("ecc_mode", "current_ecc"), yes),
    _Field("ecc_mode", ("Ecc Mode", "Current"), (), yes),
    _Field("ecc_uncorrectable", ("Volatile", "Double Bit", "Total"), ("volatile", "double_bit", "total"), number),
    _Field("retired_pages_pending", ("Retired Pages", "Pending Page Blacklist"), ("pending_blacklist",), yes),
    _Field("retired_pages_pending", ("Retired Pages", "Pending"), ("pending_retirement",), yes),
    _Field("remapped_rows_pending", ("Remapped Rows", "Pending"), ("remapped_row_pending",), yes),
    _Field("remapped_rows_failed", ("Remapped Rows", "Remapping Failure Occurred"), ("remapped_row_failure",), yes),
    _Field("temperature_c", ("GPU Current Temp",), ("temperature", "gpu_temp"), number),
    _Field("power_limit_w", ("Enforced Power Limit",), ("enforced_power_limit",), _watts),
    _Field("power_limit_w", ("Current Power Limit",), ("gpu_power_readings", "current_power_limit"), _watts),
    _Field("power_limit_default_w", ("Default Power Limit",), ("default_power_limit",), _watts),
    _Field("virtualization_mode", ("Virtualization Mode",), ("virtualization_mode",), _virtualization),
    _Field("licensed", ("License Status",), ("license_status",), _licensed),
    _Field("fabric_state", ("Fabric", "State"), ("fabric", "state"), _plain),
    _Field("fabric_status", ("Fabric", "Status"), ("fabric", "status"), _plain),
)
