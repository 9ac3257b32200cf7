"""What NVML is asked about one GPU: a function per field of `envkit.model.Gpu`, or per few fields of one answer.

Every name of the binding is looked up when its question is put: a name that a release of pynvml, or of the driver,
lacks costs one answer and not the report. Where a call has a newer form, that is asked first.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Module: TypeAlias = Any  # pynvml, which has no types
Handle: TypeAlias = Any  # a device, or a structure that pynvml made
Answer: TypeAlias = Any
Ask: TypeAlias = Callable[[Module, Handle], Answer]

# what a question raises that its binding cannot put, or whose answer it cannot read
BROKEN = (AttributeError, ArithmeticError, LookupError, OSError, TypeError, ValueError, ctypes.ArgumentError)
_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_VGPU = 2
_FABRIC_STATES = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}
_EMPTY_SLOT = {2, 6}  # invalid argument, not found
_PAST_LAST_LINK = 2  # invalid argument; "not supported" is a link that this board leaves out
_MAX_MIG = 64


def newest(nvml: Module, names: Sequence[str], *arguments: object) -> Answer:
    """The answer of the first of `names` that both the binding and the driver have."""
    for name in names[:-1]:
        try:
            return getattr(nvml, name)(*arguments)
        except (nvml.NVMLError, AttributeError):
            continue
    return getattr(nvml, names[-1])(*arguments)


def _plain(name: str, convert: Callable[[Any], Any] = lambda value: value) -> Ask:
    """A question with one call and one value."""
    return lambda nvml, gpu: convert(getattr(nvml, name)(gpu))


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _capability(pair: tuple[int, int]) -> str:
    return "{}.{}".format(*pair)


def _memory(nvml: Module, gpu: Handle) -> dict[str, int]:
    """The second form tells what the driver keeps for itself; the first counts it as used from driver 510 on."""
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2)
    except (nvml.NVMLError, *BROKEN):
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
        return {"memory_bytes": memory.total, "memory_used_bytes": memory.used}
    return {
        "memory_bytes": memory.total,
        "memory_used_bytes": memory.used,
        "memory_reserved_bytes": memory.reserved,
    }


def _temperature(nvml: Module, gpu: Handle) -> int:
    names = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
    celsius: int = newest(nvml, names, gpu, nvml.NVML_TEMPERATURE_GPU)
    return celsius


def _throttle(nvml: Module, gpu: Handle) -> int:
    names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    bits: int = newest(nvml, names, gpu)
    return bits


def _uncorrectable(nvml: Module, gpu: Handle) -> int:
    kind, counter = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    count: int = nvml.nvmlDeviceGetTotalEccErrors(gpu, kind, counter)
    return count


def _remapped(nvml: Module, gpu: Handle) -> dict[str, bool]:
    """From (corrected, uncorrected, pending, failed)."""
    rows = nvml.nvmlDeviceGetRemappedRows(gpu)
    return {"remapped_rows_pending": bool(rows[2]), "remapped_rows_failed": bool(rows[3])}


def _mig_instances(nvml: Module, gpu: Handle) -> list[str] | None:
    """None where MIG is off. A refusal is no empty list: without rights an instance cannot be seen."""
    if not nvml.nvmlDeviceGetMigMode(gpu)[0]:
        return None
    slots = range(min(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu), _MAX_MIG))
    return [uuid for slot in slots if (uuid := _instance(nvml, gpu, slot))]


def _instance(nvml: Module, gpu: Handle, slot: int) -> str:
    try:
        uuid: str = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, slot))
    except nvml.NVMLError as error:
        if error.value in _EMPTY_SLOT:
            return ""
        raise
    return uuid


def _nvlinks(nvml: Module, gpu: Handle) -> dict[str, int] | None:
    """None for a GPU without NVLink; links that a board leaves out lie between those that it has."""
    states = []
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            states.append(bool(nvml.nvmlDeviceGetNvLinkState(gpu, link)))
        except nvml.NVMLError as error:
            if error.value == _PAST_LAST_LINK:
                break
    return {"nvlinks_active": sum(states), "nvlinks_total": len(states)} if states else None


def _fabric(nvml: Module, gpu: Handle) -> dict[str, str]:
    """The state of joining the NVLink fabric; how it ended counts from "completed" on."""
    try:
        info = nvml.c_nvmlGpuFabricInfo_v2_t()
        nvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(info))
    except (nvml.NVMLError, *BROKEN):
        info = nvml.c_nvmlGpuFabricInfo_t()
        nvml.nvmlDeviceGetGpuFabricInfo(gpu, ctypes.byref(info))
    state = _FABRIC_STATES.get(info.state, f"state {info.state}")
    return {"fabric_state": "failed" if state == "completed" and info.status else state}


def _licensed(nvml: Module, gpu: Handle) -> bool | None:
    """None where no license applies: physical GPUs list features that could be licensed too."""
    if nvml.nvmlDeviceGetVirtualizationMode(gpu) != _VGPU:
        return None
    features = nvml.nvmlDeviceGetGridLicensableFeatures(gpu)
    count = features.licensableFeaturesCount if features.isGridLicenseSupported else 0
    enabled = [item for item in features.gridLicensableFeatures[:count] if item.featureEnabled]
    return any(item.featureState for item in enabled) if enabled else None


def _processes(nvml: Module, gpu: Handle) -> list[int]:
    from envkit.host.nvml_processes import running

    pids = set(running(nvml, gpu, "Compute"))
    with contextlib.suppress(nvml.NVMLError):  # the list of graphics clients is not there on every GPU
        pids |= set(running(nvml, gpu, "Graphics"))
    return sorted(pids)


QUESTIONS: Mapping[str, Ask] = {
    "name": _plain("nvmlDeviceGetName"),
    "pci_address": lambda nvml, gpu: nvml.nvmlDeviceGetPciInfo(gpu).busId,
    "gpu_uuid": _plain("nvmlDeviceGetUUID"),
    "vbios": _plain("nvmlDeviceGetVbiosVersion"),
    "compute_capability": _plain("nvmlDeviceGetCudaComputeCapability", _capability),
    "memory": _memory,
    "link_generation_current": _plain("nvmlDeviceGetCurrPcieLinkGeneration"),
    "link_generation_max": _plain("nvmlDeviceGetMaxPcieLinkGeneration"),
    "link_generation_device_max": _plain("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
    "link_width_current": _plain("nvmlDeviceGetCurrPcieLinkWidth"),
    "link_width_max": _plain("nvmlDeviceGetMaxPcieLinkWidth"),
    "pcie_replays": _plain("nvmlDeviceGetPcieReplayCounter"),
    "utilization_percent": lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
    "temperature_c": _temperature,
    "power_limit_w": _plain("nvmlDeviceGetEnforcedPowerLimit", _watts),
    "power_limit_default_w": _plain("nvmlDeviceGetPowerManagementDefaultLimit", _watts),
    "persistence_mode": _plain("nvmlDeviceGetPersistenceMode", bool),
    "compute_mode": _plain("nvmlDeviceGetComputeMode", _COMPUTE_MODES.get),
    "mig_mode": _plain("nvmlDeviceGetMigMode", lambda modes: bool(modes[0])),
    "mig_instances": _mig_instances,
    "ecc_mode": _plain("nvmlDeviceGetEccMode", lambda modes: bool(modes[0])),
    "ecc_uncorrectable": _uncorrectable,
    "retired_pages_pending": _plain("nvmlDeviceGetRetiredPagesPendingStatus", bool),
    "remapped": _remapped,
    "throttle_reasons": _throttle,
    "nvlinks": _nvlinks,
    "fabric": _fabric,
    "processes": _processes,
    "display_active": _plain("nvmlDeviceGetDisplayActive", bool),
    "virtualization_mode": _plain("nvmlDeviceGetVirtualizationMode", _VIRTUALIZATION.get),
    "licensed": _licensed,
}
