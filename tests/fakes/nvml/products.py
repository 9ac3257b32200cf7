"""What each kind of product answers to NVML: a call whose setting is not here says "not supported"."""

from __future__ import annotations

from typing import Any

from tests.fakes.nvml import A100, NEWEST

MIB = 1024**2
_SHARED = ("memory_bytes", "memory_used_bytes", "ecc_mode", "ecc_uncorrectable", "retired_pages_pending")
_NO_LINKS = ("nvlinks_total", "nvlinks_active", "fabric_state", "mig_mode")
_NO_ROWS = ("remapped_rows_pending", "remapped_rows_failed")


def _without(*names: str, **settings: object) -> dict[str, object]:
    return {key: value for key, value in A100.items() if key not in names} | settings


# product: branch of the library, what it answers, what a report must then know and what it cannot
PRODUCTS: dict[str, tuple[int, dict[str, object], dict[str, Any]]] = {
    "GB10": (
        NEWEST,
        _without(
            *_SHARED,
            *_NO_LINKS,
            *_NO_ROWS,
            name="NVIDIA GB10",
            compute_capability="12.1",
            link_generation_current=1,
            link_generation_max=1,
            link_width_current=1,
            link_width_max=1,
        ),
        {"memory_bytes": None, "memory_used_bytes": None, "link_width_current": 1, "mig_mode": None},
    ),
    "Orin": (
        540,
        {"name": "Orin (nvgpu)", "compute_capability": "8.7"},
        {"memory_bytes": None, "link_width_max": None, "persistence_mode": None, "processes": ()},
    ),
    "Thor": (
        NEWEST,
        {"name": "NVIDIA Thor", "compute_capability": "11.0", "utilization_percent": 0, "display_active": 0},
        {"memory_bytes": None, "link_width_max": None, "utilization_percent": 0, "display_active": False},
    ),
    "GB200": (
        NEWEST,
        _without(name="NVIDIA GB200", compute_capability="10.0", nvlinks_total=18, nvlinks_active=18, fabric_state=3),
        {"fabric_state": "completed", "nvlinks_active": 18, "memory_bytes": A100["memory_bytes"]},
    ),
    "K80": (
        470,
        {
            "name": "Tesla K80",
            "compute_capability": "3.7",
            "memory_bytes": 11441 * MIB,
            "memory_used_bytes": 0,
            "ecc_mode": 1,
            "ecc_uncorrectable": 0,
            "persistence_mode": 1,
            "compute_mode": 0,
            "link_generation_current": 1,
            "link_generation_max": 3,
            "link_width_current": 16,
            "link_width_max": 16,
        },
        {
            "memory_bytes": 11441 * MIB,
            "memory_reserved_bytes": None,
            "link_generation_device_max": None,
            "remapped_rows_failed": None,
            "fabric_state": None,
            "processes": (),
        },
    ),
    "MIG parent": (
        NEWEST,
        _without("utilization_percent", mig_mode=1, mig_instances=2, nvlinks_active=0),
        {"utilization_percent": None, "mig_mode": True, "nvlinks_active": 0},
    ),
    "vGPU guest": (
        NEWEST,
        _without(
            *_NO_LINKS,
            *_NO_ROWS,
            "temperature_c",
            "power_limit_mw",
            "power_limit_default_mw",
            "link_generation_current",
            "link_generation_max",
            "link_generation_device_max",
            "link_width_current",
            "link_width_max",
            "pcie_replays",
            name="NVIDIA A40-24Q",
            compute_capability="8.6",
            virtualization_mode=2,
            licensed=1,
        ),
        {"virtualization_mode": "vgpu", "licensed": True, "power_limit_w": None, "link_width_max": None},
    ),
    "vGPU host": (
        NEWEST,
        _without(*_NO_LINKS, name="NVIDIA A40", compute_capability="8.6", virtualization_mode=3),
        {"virtualization_mode": "host-vgpu", "licensed": None},
    ),
    "passed through": (
        NEWEST,
        _without(*_NO_LINKS, name="NVIDIA A10G", compute_capability="8.6", virtualization_mode=1, licensed=0),
        {"virtualization_mode": "passthrough", "licensed": None},
    ),
    "WSL": (
        NEWEST,
        _without(
            *_NO_LINKS,
            *_NO_ROWS,
            "ecc_mode",
            "ecc_uncorrectable",
            "retired_pages_pending",
            "power_limit_mw",
            name="NVIDIA GeForce RTX 5090 Laptop GPU",
            compute_capability="12.0",
            **{"error.nvmlDeviceGetComputeRunningProcesses_v3": 3, "error.nvmlDeviceGetGraphicsRunningProcesses_v3": 3},
        ),
        {"power_limit_w": None, "power_limit_default_w": 400.0, "ecc_mode": None, "link_width_max": 16},
    ),
    "GeForce": (
        NEWEST,
        _without(
            *_NO_LINKS,
            *_NO_ROWS,
            "ecc_mode",
            "ecc_uncorrectable",
            "retired_pages_pending",
            name="NVIDIA GeForce RTX 4090",
            compute_capability="8.9",
            persistence_mode=0,
            display_active=1,
        ),
        {"mig_mode": None, "nvlinks_total": None, "persistence_mode": False, "display_active": True},
    ),
}
