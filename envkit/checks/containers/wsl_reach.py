"""What brings WSL to the Windows driver: a newer Windows, WSL's own kernel, or an update of WSL and the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "wsl-libcuda-missing"
_UPDATE = fixed("wsl --update")
_SHUT_DOWN = fixed("wsl --shutdown")
_OWN_KERNEL = (
    "WSL boots a kernel of your own (the line kernel= in %UserProfile%\\.wslconfig), which lacks Microsoft's driver "
    "dxgkrnl, so that there is no /dev/dxg; no update of Windows or of the NVIDIA driver changes that. Put # in front "
    "of that line, and restart WSL with the first command in a Windows terminal; the second one shows the device. To "
    "keep a kernel of your own, build it from Microsoft's source (github.com/microsoft/WSL2-Linux-Kernel), with "
    "CONFIG_DXGKRNL=y."
)
_OLD_WINDOWS = (
    "Windows build {build} does not pass the GPU to WSL 2, whatever driver is installed: first update Windows to "
    "Windows 11, or to Windows 10 21H2 or later (Settings > Update & Security; winver shows the release). Then, in a "
    "Windows terminal: update WSL and restart it; update the Windows NVIDIA driver."
)
_ALL = (
    "In a Windows terminal: update WSL and restart it; update the Windows NVIDIA driver. If the problem began with a "
    "preview build of Windows, install the next build, or go back to the one before (Settings > System > Recovery)."
)


def reach_windows(environment: Environment, matrix: Matrix) -> Remedy:
    """By what keeps WSL from the driver, as far as the text shows it."""
    if seen(environment, _ID, "detail-own-kernel"):
        return Remedy(_OWN_KERNEL, (_SHUT_DOWN, fixed("wsl ls -l /dev/dxg")))
    build = named(seen(environment, _ID, "detail-old-windows", "detail-old-build", "detail-old-release"), "build")
    return Remedy(_OLD_WINDOWS.format(build=build) if build else _ALL, (_UPDATE, _SHUT_DOWN))


_BY_NAME = (
    "The driver and cuDNN are fine: cuDNN opens libcuda.so, and the loader's cache has only libcuda.so.1. Put "
    "/usr/lib/wsl/lib into LD_LIBRARY_PATH in WSL{how}. A conda environment that sets the variable when it is "
    "activated keeps the folder if its script adds to the old value. If ls /usr/lib/wsl/lib does not list libcuda.so, "
    "run wsl --update and wsl --shutdown in a Windows terminal."
)
_LINE = (
    ": add the line export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH to ~/.bashrc there, and open a new shell"
)


def on_loader_path(environment: Environment) -> Remedy:
    """The driver's folder where the loader looks; in words where a text is of Windows, whose terminal is another."""
    if on_windows(environment):
        return Remedy(_BY_NAME.format(how=_LINE))
    words = _BY_NAME.format(how=", in this shell (first command) and in new ones (second command)")
    return remedy(environment, words, "wsl-library-path")
