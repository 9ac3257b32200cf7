"""Libraries for CUDA that a program keeps as files of its own, next to it, and opens by name."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

_OF_XMRIG = "xmrig-plugin"
_PLUGIN = (
    "XMRig has no CUDA in it: the plugin is a download of its own, the project xmrig-cuda. {files} No other file can "
    "stand in for it: in config.json, leave cuda > loader at null, or let it name that plugin. The release of the plugin "
    "has to be for a CUDA that the driver supports (nvidia-smi shows it in its first lines)."
)
_FOR_WINDOWS = (
    "Take the archive for your CUDA from its releases, and unpack all of its files (xmrig-cuda.dll, and the nvrtc and "
    "nvrtc-builtins libraries with it) into the folder of xmrig.exe."
)
_FOR_OTHERS = (
    "There is none for this system among its releases: build it with the CUDA toolkit and cmake as its README says, and "
    "put libxmrig-cuda.so into the folder of xmrig."
)


def own_plugin(environment: Environment) -> Remedy | None:
    """How to get the plugin of the program that lacks it; None where none is missed."""
    if not seen(environment, "libcudart-missing", _OF_XMRIG):
        return None
    return Remedy(_PLUGIN.format(files=_FOR_WINDOWS if on_windows(environment) else _FOR_OTHERS))
