"""What Windows says where it stopped the GPU or a kernel on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed, for_windows, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_REINSTALL = (
    "remove the driver completely (DDU in safe mode), let Windows restart, and install the current one from "
    "nvidia.com/drivers for this card; on a notebook, the manufacturer's first"
)
_BY_CODE = {
    "10": "The card did not start: shut down and unplug the computer, reseat the card and its power cables, and "
    "{reinstall}. A card with much memory also needs 'Above 4G decoding' in the firmware.",
    "14": "Restart Windows: the driver is installed and starts only then.",
    "22": "Somebody disabled the device: enable it in Device Manager (right-click > Enable device). If it disables "
    "itself, {reinstall}.",
    "28": "No driver is installed for the card: install the current one from nvidia.com/drivers.",
    "31": "Windows could not load the driver: restart once, and if that does not help, {reinstall}. Modified drivers "
    "and drivers for a different card cause this.",
    "43": "The driver stopped the card. Restart with the power off for a minute, then {reinstall}. If the error "
    "persists with a clean driver, try the card in another slot or computer: modified firmware, overclocking, and "
    "defects cause this.",
    "52": "Windows does not accept the driver's signature: it is modified, or for another edition. Install the "
    "original driver from nvidia.com/drivers.",
}


def _by_code(environment: Environment, matrix: Matrix) -> Remedy:
    code = named(seen(environment, "windows-gpu-stopped"), "code") or ""
    advice = _BY_CODE.get(
        code, f"Look at the card's properties in Device Manager, which name the reason. Then {_REINSTALL}."
    )
    return Remedy(advice.format(reinstall=_REINSTALL), (fixed("nvidia-smi"),))


_TDR = "HKLM\\System\\CurrentControlSet\\Control\\GraphicsDrivers"
_SHORTER = (
    "Smaller batches or tiles make each kernel shorter, as does an option of the program that splits them (bfactor 6 "
    "or more and fewer threads in xmr-stak). If it happens with short kernels, too, undo any overclocking."
)


def _longer_kernels(environment: Environment, matrix: Matrix) -> Remedy:
    """By the system whose watchdog it is."""
    if environment.system.os.known and not on_windows(environment):
        return remedy(
            environment,
            "The watchdog is on where a desktop uses the GPU: run the program on a GPU without a display, or boot "
            f"without a desktop, as below (sudo systemctl set-default graphical.target undoes it). {_SHORTER}",
            "no-desktop",
        )
    return Remedy(
        f"The card and its driver are not at fault: Windows resets the driver of a GPU with a display after 2 seconds. "
        f"{_SHORTER} Or let a kernel take 60 seconds: run these commands in a terminal as administrator. The last one "
        "restarts Windows after a minute, which closes all programs. To undo it, run "
        f"reg delete {_TDR} /v TdrDelay /f, and the same for TdrDdiDelay.",
        (
            for_windows(run("reg", "add", _TDR, "/v", "TdrDelay", "/t", "REG_DWORD", "/d", "60", "/f")),
            for_windows(run("reg", "add", _TDR, "/v", "TdrDdiDelay", "/t", "REG_DWORD", "/d", "60", "/f")),
            fixed("shutdown /r /t 60"),
        ),
    )


told_by_program(
    Fault(
        "windows-gpu-stopped",
        "Windows has stopped or disabled the GPU (Device Manager shows an error code)",
        impact="nvidia-smi, CUDA, and WSL do not find the GPU.",
        remedy=_by_code,
    ),
    fix="Do what the code in Device Manager asks for; most often, that is a clean reinstallation of the driver.",
    doc="""Device Manager shows no error code for the GPU.

    A code says why Windows does not use the device: 43 and 10 that the card or its driver failed, 31 and 52 that the
    driver could not be loaded, 22 that it was disabled, 28 that there is no driver.
    """,
    rank=41,
    explained_by=("gpu-refused-in-vm", "bar-not-assigned"),
    references=threads("dartraiden/NVIDIA-patcher#531", "dartraiden/NVIDIA-patcher#149"),
)
told_by_program(
    Fault(
        "gpu-kernel-timeout",
        "A GPU kernel ran longer than the display's watchdog allows",
        impact="The driver ends the program; on Windows, the screen goes black for a moment.",
        remedy=_longer_kernels,
    ),
    fix="Shorten the kernels, or raise TdrDelay on Windows; on Linux, use a GPU without a display.",
    doc="""Every kernel on a GPU with a display ends within the time that the system allows.

    Windows allows two seconds by default (TDR), and the Linux driver allows a few seconds if a desktop runs on the GPU.
    The error is cudaErrorLaunchTimeout (702).
    """,
    rank=42,
    references=threads("numba/numba#9381", "rogerallen/raytracinginoneweekendincuda#7"),
)
told_by_program(
    Fault(
        "windows-driver-refused",
        "NVIDIA's installer for Windows refuses this driver",
        impact="The previous driver, if any, stays in place.",
        remedy="Choose the driver on nvidia.com/drivers by the exact card, and by the edition and release of Windows "
        "(a DCH driver for Windows 10 and 11, a data-center driver for Tesla cards). Install pending updates and "
        "restart, so that no other installation is active, turn antivirus programs off temporarily, and remove "
        "the old driver with DDU in safe mode if it fails again.",
    ),
    doc="""NVIDIA's installer accepts the driver for this card and this Windows.

    It stops if the driver is for another release of Windows or another card, or if another installation is pending.
    """,
    rank=43,
    references=threads("arutar/FrankenDriver#29"),
)
told_by_program(
    Fault(
        "wsl-smi-crashes",
        "nvidia-smi crashes in WSL",
        impact="nvidia-smi shows nothing there; CUDA programs often work all the same.",
        remedy="The Windows driver's part for WSL is at fault: some releases of 2024 crash like this. "
        "Update WSL (first command, in Windows), install the newest driver in Windows, and restart WSL; or go back to "
        "the last driver that worked. Install no driver inside WSL. Meanwhile, test CUDA with a program instead.",
        steps=(fixed("wsl --update"), fixed("wsl --shutdown")),
    ),
    fix="Update WSL and the Windows driver, or go back to the driver that worked.",
    doc="""nvidia-smi runs in WSL as it does in Windows.

    It is the Windows driver's own, mounted from /usr/lib/wsl/lib, and talks to the driver through /dev/dxg.
    """,
    rank=44,
    explained_by=("wsl-driver-inside", "wsl-libcuda-missing"),
    references=threads("microsoft/WSL#11277"),
)
told_by_program(
    Fault(
        "wsl-pinned-memory-short",
        "WSL cannot pin as much memory as the program asks for",
        impact="CUDA reports that it is out of memory, although the GPU has enough left.",
        remedy="Pinned (page-locked) memory is what runs out, not the GPU's. WSL gets half of the computer's memory "
        "unless %UserProfile%\\.wslconfig says more (under [wsl2], for example memory=48GB, then the second command), "
        "and Windows limits how much of it may be pinned. Update WSL and the Windows driver. Pin less: "
        "pin_memory=False in the DataLoader, no pinned offload in DeepSpeed, fewer and smaller buffers. If the program "
        "needs it, run it on Linux.",
        steps=(fixed("wsl --update"), fixed("wsl --shutdown")),
    ),
    fix="Give WSL more memory in .wslconfig, or let the program pin less.",
    doc="""Programs in WSL can pin the memory that they copy to the GPU.

    WSL is a virtual machine with half of the computer's memory by default, and pinned memory is limited there.
    """,
    rank=68,
    references=threads("microsoft/WSL#8447"),
)
told_by_program(
    Fault(
        "wsl-gpu-support-faulty",
        "The GPU support of this Windows, WSL, or driver release does not work in WSL",
        impact="CUDA fails in WSL as soon as it computes, while the same card works in Windows.",
        remedy="Nothing in the distribution is wrong, and compute modes do not exist there: GPU access in WSL is part "
        "of Windows, of WSL's kernel, and of the Windows driver. Update all three (Windows Update, the first command, "
        "and nvidia.com/drivers), then restart WSL. If it began with an update, go back to the release before it: a "
        "preview build of Windows to the last one that worked, the driver to the previous one.",
        steps=(fixed("wsl --update"), fixed("wsl --shutdown"), fixed("wsl --version")),
    ),
    fix="Update Windows, WSL, and the Windows driver, or go back to the releases that worked.",
    doc="""CUDA computes in WSL as it does in Windows.

    The Windows driver serves WSL through /dev/dxg; a fault of one release shows as devices that are
    busy or unavailable.
    """,
    rank=71,
    explained_by=("wsl-driver-inside", "wsl-libcuda-missing", "wsl-gpu-in-tcc-mode"),
    references=threads("microsoft/WSL#6098", "microsoft/WSL#11589"),
)
