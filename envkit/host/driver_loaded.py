"""Whether a driver is loaded, by files alone: the driver's libraries and tools do harm where none is.

As root they create device nodes that no driver answers, and through nvidia-modprobe they load the module. So what a
look at the files has already told is not asked: the answers below are those that they would give.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from envkit.host.base import CommandResult

SIGNS = (
    "/proc/driver/nvidia/version",
    "/sys/module/nvidia",
    "/dev/dxg",  # WSL
    "/dev/nvmap",  # Jetson
    "/dev/nvgpu",
    "/dev/nvhost-ctrl",
)
LOADED = ("nvidia", "nvgpu", "tegra")  # how the names of its modules begin
_MODULES = "/proc/modules"
_TOOLS = ("nvidia-smi",)
_WHY = "not asked, because no driver is loaded"
NVML_ANSWER: Mapping[str, object] = {
    "library": "",
    "init": {"code": 9, "name": "NVML_ERROR_DRIVER_NOT_LOADED", "call": "nvmlInit", "text": _WHY},
}
CUDA_ANSWER: Mapping[str, object] = {
    "init": {"code": 100, "name": "CUDA_ERROR_NO_DEVICE", "call": "cuInit", "text": _WHY}
}


def surely_not_loaded() -> bool:
    """True only where the kernel lists its modules and shows no sign of a driver."""
    if any(os.path.exists(path) for path in SIGNS):
        return False
    try:
        with open(_MODULES, encoding="utf-8", errors="replace") as modules:
            return not any(line.startswith(LOADED) for line in modules)
    except OSError:
        return False  # gVisor, or a kernel without modules


def tool_answer(command: Sequence[str]) -> CommandResult | None:
    """What one of the driver's tools would answer; None for any other program."""
    return CommandResult(9, "", _WHY) if os.path.basename(command[0]) in _TOOLS else None
