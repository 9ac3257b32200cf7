"""Builds and configures the fake libnvidia-ml.so.1 that the real pynvml loads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from envkit.host.local import LocalHost
from tests.programs import require

SOURCE = Path(__file__).with_name("fake_nvml.c")

A100 = {
    "name": "NVIDIA A100-SXM4-80GB",
    "compute_capability": "8.0",
    "memory_bytes": 85899345920,
    "memory_used_bytes": 0,
    "link_generation_current": 4,
    "link_generation_max": 4,
    "link_generation_device_max": 4,
    "link_width_current": 16,
    "link_width_max": 16,
    "pcie_replays": 0,
    "utilization_percent": 0,
    "temperature_c": 31,
    "power_limit_mw": 400000,
    "power_limit_default_mw": 400000,
    "persistence_mode": 1,
    "compute_mode": 0,
    "mig_mode": 0,
    "ecc_mode": 1,
    "ecc_uncorrectable": 0,
    "retired_pages_pending": 0,
    "remapped_rows_pending": 0,
    "remapped_rows_failed": 0,
    "throttle_reasons": 1,
    "nvlinks_total": 12,
    "nvlinks_active": 12,
    "fabric_state": 0,
    "display_active": 0,
    "virtualization_mode": 0,
}
BOX = {"driver": "535.247.01", "cuda": 12020}


NEWEST = 999
# The first branch whose library has the name, of 390, 418, 450, 470, 535 and 550; all have the others. Of the names in
# 570 only the one that pynvml took up with that branch is used here. tests/thorough looks at the real libraries.
FIRST_BRANCH = {
    "nvmlDeviceGetComputeRunningProcesses_v2": 450,
    "nvmlDeviceGetComputeRunningProcesses_v3": 535,
    "nvmlDeviceGetCurrentClocksEventReasons": 535,
    "nvmlDeviceGetGpuFabricInfo": 535,
    "nvmlDeviceGetGpuFabricInfoV": 550,
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": 535,
    "nvmlDeviceGetGraphicsRunningProcesses_v2": 450,
    "nvmlDeviceGetGraphicsRunningProcesses_v3": 535,
    "nvmlDeviceGetGridLicensableFeatures_v4": 470,
    "nvmlDeviceGetMaxMigDeviceCount": 450,
    "nvmlDeviceGetMemoryInfo_v2": 535,
    "nvmlDeviceGetMigDeviceHandleByIndex": 450,
    "nvmlDeviceGetMigMode": 450,
    "nvmlDeviceGetRemappedRows": 450,
    "nvmlDeviceGetTemperatureV": 570,
    "nvmlSystemGetCudaDriverVersion_v2": 418,
}


def build(folder: Path, branch: int = NEWEST) -> Path:
    """The folder that holds the compiled library, without the names that this branch of the driver lacks."""
    require("gcc")
    library = folder / "libnvidia-ml.so.1"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(SOURCE)]
    lacking = [name for name, first in FIRST_BRANCH.items() if first > branch]
    if lacking:
        script = folder / "names.map"
        script.write_text(f"{{ local: {'; '.join(lacking)}; }};\n")
        command.append(f"-Wl,--version-script={script}")
    subprocess.run(command, check=True)
    return folder


def host_with(library: Path, work: Path, settings: Mapping[str, object]) -> LocalHost:
    """This machine with the fake NVML in front of any other."""
    return LocalHost({**os.environ, **variables(library, work, settings)})


def variables(library: Path, work: Path, settings: Mapping[str, object]) -> dict[str, str]:
    """The variables that make a program load the fake NVML and answer with these settings."""
    configuration = work / "fake_nvml.txt"
    configuration.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    return {"LD_LIBRARY_PATH": str(library), "CUDA_FAKE_NVML": str(configuration)}


def eight(**changes: object) -> dict[str, object]:
    """The settings of a box with eight A100; `d3_name=…` changes device 3 alone."""
    addresses = {f"{index}.pci_address": f"00000000:{0x07 + 0x11 * index:02X}:00.0" for index in range(8)}
    renamed = {
        f"{key[1]}.{key[3:]}" if key[0] == "d" and key[1:2].isdigit() else key: value for key, value in changes.items()
    }
    return {**BOX, "count": 8, **A100, **addresses, **renamed}


def one(**changes: object) -> dict[str, object]:
    """The settings of a machine with one A100."""
    return {**BOX, "count": 1, **A100, "pci_address": "00000000:07:00.0", **changes}
