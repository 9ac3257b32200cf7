"""Libraries for CUDA that a program keeps as files of its own, next to it, and opens by name."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.model import Environment

_OF_XMRIG = Remedy(
    "XMRig itself does not include CUDA: the plug-in is a separate download, from the project xmrig-cuda. On Windows, "
    "download its release archive for your CUDA version, and unpack all of its files (xmrig-cuda.dll, and the NVRTC "
    "libraries with it) into the folder of xmrig.exe. On Linux, build it with the CUDA toolkit and cmake as its README "
    "says, and put libxmrig-cuda.so into the folder of xmrig. No other file can replace it: in config.json, leave cuda "
    "> loader at null, or set it to that plug-in. The plug-in must be built for a CUDA version that the driver "
    "supports; nvidia-smi shows the highest in its header."
)


def own_plugin(environment: Environment) -> Remedy | None:
    """How to get the plugin of the program that lacks it; None where none is missed."""
    return _OF_XMRIG if seen(environment, "libcudart-missing", "xmrig-plugin") else None
