"""Asks NVML through the real `pynvml`, and prints what it says as JSON:

    {"library": "/usr/lib/…/libnvidia-ml.so.535.247.01",
     "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
     "driver_version": "535.247.01", "driver_cuda_version": 12020, "count": 1,
     "devices": [{"index": 0, "name": "NVIDIA A100-SXM4-80GB", "pci_address": "00000000:65:00.0",
                  "compute_capability": "8.0", "memory_bytes": 85899345920, …}]}

The keys of a device are the fields of `envkit.facts.Gpu`. A key is left out where NVML says "not supported"; `error`
names the failure of a device that could not be read at all, and `failed` those of single calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from envkit.host.child_output import answer_with, loaded_file

Module: TypeAlias = Any  # pynvml, which has no types
Handle: TypeAlias = Any  # a device, or a structure or error that pynvml made
_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_FABRIC_STATES = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}
_QUIET = {1, 3, 13}  # uninitialised feature, not supported, function not in this library: nothing to report
_MAX_MIG = 64


def main() -> None:
    """Print the answer."""
    answer_with(_ask)


def _ask() -> dict[str, Any]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return {"library": loaded_file("libnvidia-ml.so"), "init": _result(pynvml, error, "nvmlInit")}
    answer: dict[str, Any] = {
        "library": loaded_file("libnvidia-ml.so"),
        "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
    }
    try:
        answer |= _versions(pynvml)
        answer["count"] = pynvml.nvmlDeviceGetCount()
        answer["devices"] = [_device(pynvml, index) for index in range(answer["count"])]
    except pynvml.NVMLError as error:
        answer["init"] = _result(pynvml, error, "nvmlDeviceGetCount")
    return answer


def _versions(pynvml: Module) -> dict[str, Any]:
    """The driver's version and the highest CUDA that it supports, where NVML tells."""
    answer: dict[str, Any] = {}
    for key, ask in (
        ("driver_version", pynvml.nvmlSystemGetDriverVersion),
        ("driver_cuda_version", pynvml.nvmlSystemGetCudaDriverVersion_v2),
    ):
        with contextlib.suppress(pynvml.NVMLError):
            answer[key] = ask()
    return answer


def _result(pynvml: Module, error: Handle, call: str) -> dict[str, Any]:
    return {"code": error.value, "name": _error_name(pynvml, error.value), "call": call, "text": str(error)}


def _error_name(pynvml: Module, code: int) -> str:
    names = (name for name in dir(pynvml) if name.startswith("NVML_ERROR_") and getattr(pynvml, name) == code)
    return next(names, f"NVML_ERROR_{code}")


def _device(pynvml: Module, index: int) -> dict[str, Any]:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return {"index": index, "name": "", "error": _error_name(pynvml, error.value)}
    answer: dict[str, Any] = {"index": index, "name": ""}
    failed: dict[str, str] = {}
    for key, ask in _questions(pynvml).items():
        try:
            value = ask(handle)
        except pynvml.NVMLError as error:
            if error.value not in _QUIET:
                failed[key] = _error_name(pynvml, error.value)
            continue
        if isinstance(value, Mapping):
            answer |= value
        elif value is not None:
            answer[key] = value
    if failed:
        answer["failed"] = failed
        if "name" in failed:
            answer["error"] = failed["name"]
    return answer


def _questions(nvml: Module) -> dict[str, Callable[[Any], Any]]:
    """One call per field of a GPU; a mapping answers several fields at once."""
    return {
        "name": nvml.nvmlDeviceGetName,
        "pci_address": lambda gpu: nvml.nvmlDeviceGetPciInfo(gpu).busId,
        "gpu_uuid": nvml.nvmlDeviceGetUUID,
        "compute_capability": lambda gpu: "{}.{}".format(*nvml.nvmlDeviceGetCudaComputeCapability(gpu)),
        "memory": lambda gpu: _memory(nvml.nvmlDeviceGetMemoryInfo(gpu)),
        "link_generation_current": nvml.nvmlDeviceGetCurrPcieLinkGeneration,
        "link_generation_max": nvml.nvmlDeviceGetMaxPcieLinkGeneration,
        "link_generation_device_max": nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration,
        "link_width_current": nvml.nvmlDeviceGetCurrPcieLinkWidth,
        "link_width_max": nvml.nvmlDeviceGetMaxPcieLinkWidth,
        "pcie_replays": nvml.nvmlDeviceGetPcieReplayCounter,
        "utilization_percent": lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
        "temperature_c": lambda gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
        "power_limit_w": lambda gpu: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000,
        "power_limit_default_w": lambda gpu: nvml.nvmlDeviceGetPowerManagementDefaultLimit(gpu) / 1000,
        "persistence_mode": lambda gpu: bool(nvml.nvmlDeviceGetPersistenceMode(gpu)),
        "compute_mode": lambda gpu: _COMPUTE_MODES.get(nvml.nvmlDeviceGetComputeMode(gpu)),
        "mig": lambda gpu: _mig(nvml, gpu),
        "ecc_mode": lambda gpu: bool(nvml.nvmlDeviceGetEccMode(gpu)[0]),
        "ecc_uncorrectable": lambda gpu: nvml.nvmlDeviceGetTotalEccErrors(
            gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "retired_pages_pending": lambda gpu: bool(nvml.nvmlDeviceGetRetiredPagesPendingStatus(gpu)),
        "remapped": lambda gpu: _remapped(nvml.nvmlDeviceGetRemappedRows(gpu)),
        "throttle_reasons": nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
        "nvlinks": lambda gpu: _nvlinks(nvml, gpu),
        "fabric_state": lambda gpu: _fabric(nvml, gpu),
        "processes": lambda gpu: _processes(nvml, gpu),
        "display_active": lambda gpu: bool(nvml.nvmlDeviceGetDisplayActive(gpu)),
        "virtualization_mode": lambda gpu: _VIRTUALIZATION.get(nvml.nvmlDeviceGetVirtualizationMode(gpu)),
        "licensed": lambda gpu: _licensed(nvml.nvmlDeviceGetGridLicensableFeatures(gpu)),
    }


def _memory(memory: Handle) -> dict[str, int]:
    return {"memory_bytes": memory.total, "memory_used_bytes": memory.used}


def _remapped(rows: Handle) -> dict[str, bool]:
    """From (corrected, uncorrected, pending, failed)."""
    return {"remapped_rows_pending": bool(rows[2]), "remapped_rows_failed": bool(rows[3])}


def _mig(nvml: Module, gpu: Handle) -> dict[str, Any]:
    current = bool(nvml.nvmlDeviceGetMigMode(gpu)[0])
    answer: dict[str, Any] = {"mig_mode": current}
    if current:
        answer["mig_instances"] = [
            uuid
            for slot in range(min(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu), _MAX_MIG))
            if (uuid := _instance(nvml, gpu, slot))
        ]
    return answer


def _instance(nvml: Module, gpu: Handle, slot: int) -> str:
    try:
        uuid: str = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, slot))
    except nvml.NVMLError:
        return ""  # an empty slot answers "not found"
    return uuid


def _nvlinks(nvml: Module, gpu: Handle) -> dict[str, int]:
    states = []
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            states.append(bool(nvml.nvmlDeviceGetNvLinkState(gpu, link)))
        except nvml.NVMLError:
            break  # not supported, or one past this GPU's last link
    return {"nvlinks_active": sum(states), "nvlinks_total": len(states)}


def _fabric(nvml: Module, gpu: Handle) -> str | None:
    from ctypes import byref

    info = nvml.c_nvmlGpuFabricInfo_t()
    nvml.nvmlDeviceGetGpuFabricInfo(gpu, byref(info))
    return _FABRIC_STATES.get(info.state)


def _processes(nvml: Module, gpu: Handle) -> list[int]:
    running = nvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    with contextlib.suppress(nvml.NVMLError):  # the list of graphics clients is not there on every GPU
        running = [*running, *nvml.nvmlDeviceGetGraphicsRunningProcesses(gpu)]
    return sorted({process.pid for process in running})


def _licensed(features: Handle) -> bool | None:
    """None where no licence applies: not a vGPU."""
    if not features.isGridLicenseSupported:
        return None
    count = features.licensableFeaturesCount
    return any(features.gridLicensableFeatures[index].featureState for index in range(count))
