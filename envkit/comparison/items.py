"""A fact as the items that a comparison holds against each other: each with a name and one text as its value.

What differs between any two looks at one machine (temperatures, free memory, process ids, lines of logs) is no item,
nor is what follows from other facts (which file a library would load).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from envkit._startup.records import is_record, record, types_of
from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.model import CallResult, FrameworkInstall, OsRelease
from envkit.model.facts_json import to_json

_FACTS = """
    driver.device_majors kernel.dkms_make_log kernel.log measurements messages network_interfaces package_changes
    system.free_bytes system.last_resume
"""
FACTS_LEFT_OUT = frozenset(_FACTS.split())
_FIELDS = """
    Gpu.ecc_uncorrectable Gpu.failed Gpu.gpu_uuid Gpu.index Gpu.link_generation_current Gpu.link_width_current
    Gpu.lost_processes Gpu.memory_reserved_bytes Gpu.memory_used_bytes Gpu.pcie_replays Gpu.processes
    Gpu.temperature_c Gpu.throttle_reasons Gpu.utilization_percent PciGpu.aer_errors PciGpu.hops PciGpu.power_state
    PcieLink.speed_current PcieLink.name Distribution.installer Distribution.path Distribution.requires
    Distribution.wheel_tags FrameworkInstall.cudnn FrameworkInstall.cuda_known FrameworkInstall.git_version
    FrameworkInstall.package FrameworkInstall.path FrameworkInstall.ptx_arch_list FrameworkInstall.sm_arch_list
    FrameworkInstall.source FrameworkInstall.version PythonEnvironment.active PythonEnvironment.build_tools
    PythonEnvironment.glibc_needed PythonEnvironment.glibcxx_needed PythonEnvironment.library_uses
    PythonEnvironment.owners_clash PythonEnvironment.unresolved_symbols DeviceNode.device
    CudaToolkit.source Cudnn.sublibraries
"""
FIELDS_LEFT_OUT = frozenset(_FIELDS.split())
# The fields by which a record of a list is known again, and the one that tells it in a word.
_KNOWN_BY: Mapping[str, tuple[str, str]] = {
    "CudaToolkit": ("path", "version"),
    "Cudnn": ("path", "version"),
    "DeviceNode": ("path", "mode"),
    "Distribution": ("name", "version"),
    "DkmsEntry": ("module kernel", "version"),
    "DriverLibrary": ("name", "version"),
    "FrameworkInstall": ("name", "cuda"),
    "Gpu": ("pci_address", "name"),
    "HostCompiler": ("path", "version"),
    "ModuleFile": ("kernel", "version"),
    "PcieLink": ("pci_address", "name"),
    "PciGpu": ("pci_address", "name"),
    "PythonEnvironment": ("prefix", "version"),
    "SystemPackage": ("name", "version"),
}
_OF_ONE_SESSION = ("SLURM_JOB_ID", "BOOT_IMAGE")  # keys whose values are new each time
_MODULES = ("nvidia", "nouveau", "nova", "gdrdrv", "vfio", "mlx5", "amdgpu")  # of all loaded ones
PRESENT = "present"  # the value of what is there and has none
EMPTY = "''"  # the value of a variable that is set to nothing, which is not one that is not set
_GIB = 1 << 30
_RESULT_OF = regex(r"^(NVML_|CUDA_|CU)(ERROR_)?")
# What a mask puts in the place of a name: which number a name gets depends on the order of each capture.
_PSEUDONYM = regex(r"\b(user|host|name|net|SERIAL-|00000000-0000-0000-0000-)(?:[0-9a-f]{12}|[0-9]{1,6})\b")


@record
class Item:
    """One thing that can differ: the path of its fact, what it is called within that, and its value as text."""

    fact: str
    name: str
    value: str
    place: str = ""  # the environment that holds it, where the machine has several


Key = tuple[str, str, str]


def items_of(path: str, value: object) -> dict[Key, Item]:
    """The items of a known fact by what they are known again by, the same in two captures with other pseudonyms."""
    held: dict[Key, Item] = {}
    alike: dict[Key, int] = {}
    for item in _items(path, "", "", value):
        key = (item.fact, unmasked(item.place), unmasked(item.name))
        number = alike[key] = alike.get(key, 0) + 1
        held[key if number == 1 else (*key[:2], f"{key[2]} #{number}")] = item  # a mask made them alike: by order
    return held


def unmasked(text: str) -> str:
    """The text without the numbers that a mask gives to what it hides."""
    return _PSEUDONYM.sub(r"\1", text)


def _items(path: str, name: str, place: str, value: object) -> Iterator[Item]:
    if isinstance(value, (CallResult, OsRelease)):
        yield Item(path, name, _brief(value), place)
    elif isinstance(value, (Version, ComputeCapability)):
        yield Item(path, name, str(value), place)
    elif is_record(type(value)):
        yield from _fields(path, name, place, value)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            if key not in _OF_ONE_SESSION:
                held = value[key]
                yield from _items(path, f"{name} {key}".strip(), place, EMPTY if held == "" else held)
    elif path == "kernel.cmdline":
        yield from (Item(path, word.partition("=")[0], word, place) for word in _words(str(value)))
    elif isinstance(value, (tuple, list)):
        yield from _listed(path, name, place, value)
    elif value is not None and value != "":
        yield Item(path, name, text_of(path.rpartition(".")[2], value), place)


def _words(line: str) -> Iterable[str]:
    return (word for word in line.split() if word.partition("=")[0] not in _OF_ONE_SESSION)


def _fields(path: str, name: str, place: str, value: object) -> Iterator[Item]:
    kind = type(value).__name__
    known_by = _KNOWN_BY.get(kind, ("", ""))
    for field in types_of(type(value)):
        held = getattr(value, field)
        if f"{kind}.{field}" not in FIELDS_LEFT_OUT and field not in known_by[0].split():
            yield from _items(f"{path}.{field}" if field != known_by[1] else path, name, place, held)


def _listed(path: str, name: str, place: str, values: Iterable[Any]) -> Iterator[Item]:
    for value in values:
        kind = type(value).__name__
        if kind == "PythonEnvironment":
            yield Item(path, value.prefix, str(value.version or PRESENT))
            yield from (item for item in _fields(path, "", value.prefix, value) if item.fact != path)
        elif kind in _KNOWN_BY:
            own = " ".join(str(getattr(value, field)) for field in _KNOWN_BY[kind][0].split())
            yield Item(path, own, _in_a_word(value, _KNOWN_BY[kind][1]), place)
            yield from (item for item in _fields(path, own, place, value) if item.fact != path)
        elif path != "kernel.loaded_modules" or str(value).startswith(_MODULES):
            yield Item(path, f"{name} {text_of('', value)}".strip(), PRESENT, place)


def text_of(field: str, value: object) -> str:
    """A single value as a person reads it; sizes are rounded, as the last bytes of memory differ with each boot."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field == "memlock_bytes" and value == -1:
        return "unlimited"
    if field.endswith("_w") and isinstance(value, (int, float)):
        return f"{value:g} W"
    if field.endswith("_bytes") and isinstance(value, int) and value >= _GIB:
        return f"{value / _GIB:.0f} GiB"
    return str(to_json(value))


def _in_a_word(value: object, field: str) -> str:
    if isinstance(value, FrameworkInstall) and value.cuda is None:
        return "none" if value.cuda_known else "not known"
    return str(getattr(value, field) or PRESENT)


def _brief(value: CallResult | OsRelease) -> str:
    """A result without the prefix of its library, which one program prints and another does not."""
    if isinstance(value, OsRelease):
        return value.os_id
    return f"{value.code} {_RESULT_OF.sub('', value.name)}".strip()
