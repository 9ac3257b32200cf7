"""Libraries for CUDA that a program keeps as files of its own, next to it, and opens by name."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.model import Environment

_OF_XMRIG = Remedy(
    "XMRig has no CUDA in it: the plugin is a download of its own, the project xmrig-cuda. On Windows, take the "
    "archive of its releases for your CUDA, and unpack all of its files (xmrig-cuda.dll, and the NVRTC libraries with "
    "it) into the folder of xmrig.exe. On Linux, build it with the CUDA toolkit and cmake as its README says, and put "
    "libxmrig-cuda.so into the folder of xmrig. No other file can stand in for it: in config.json, leave cuda > loader "
    "at null, or let it name that plugin. It has to be for a CUDA that the driver supports: nvidia-smi shows the "
    "highest in its first lines."
)


def own_plugin(environment: Environment) -> Remedy | None:
    """How to get the plugin of the program that lacks it; None where none is missed."""
    return _OF_XMRIG if seen(environment, "libcudart-missing", "xmrig-plugin") else None
