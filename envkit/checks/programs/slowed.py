"""What keeps a cool and healthy GPU slow, or a laptop from switching it: its power, clocks, and firmware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import on_windows
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_HELD = "clocks-held-low"
_STATE = fixed("nvidia-smi -q -d CLOCK,POWER,PERFORMANCE")


def _full_power(environment: Environment, matrix: Matrix) -> Remedy:
    """A laptop's firmware divides its power; on a desktop, a setting or a program holds the clocks."""
    laptop = "laptop" in managers(environment) or any(gpu.laptop for gpu in seen_gpus(environment, matrix))
    if laptop or seen(environment, _HELD, "told-laptop", "told-laptop-stuck", "told-powerd"):
        tool = (
            "in its maker's program and in the power settings of Windows, and high performance in NVIDIA's control "
            "panel"
            if on_windows(environment)
            else "(the second command; some laptops also have it on a key or in the firmware)"
        )
        daemon = (
            ""
            if on_windows(environment)
            else " On Linux, only nvidia-powerd raises the limit above its base (Dynamic Boost): start it if the "
            "driver has it, and stop it if the limit is lower with it than without."
        )
        return Remedy(
            "The laptop's firmware decides how much power its GPU gets, so nvidia-smi -pl does not help. Connect the "
            f"laptop's own power supply (with a USB-C charger or on battery it gets far less), and choose performance "
            f"mode {tool}.{daemon} If it became slow after sleep or after changing modes, shut the laptop down and "
            "unplug it for a minute. Update its firmware. The first command shows the limit, the clocks, and the "
            "reason.",
            (_STATE,) if on_windows(environment) else (_STATE, fixed("powerprofilesctl set performance")),
        )
    return Remedy(
        "The first command shows the clocks under load and the reason that holds them. Undo locked clocks (the second "
        "command), and close programs that set them (overclocking and fan tools, a desktop's power saver). If short "
        "jobs follow a pause, the clocks rise only after the first one: warm up, or keep the GPU busy. If they stay "
        "low, restart with the power off for a minute, set 'Prefer maximum performance' for the program in NVIDIA's "
        "control panel, and turn off scaling by the GPU there.",
        (_STATE, fixed("nvidia-smi --reset-gpu-clocks") if on_windows(environment) else fixed("sudo nvidia-smi -rgc")),
    )


told_by_program(
    Fault(
        _HELD,
        "The GPU stays at low clocks or low power under load, although it is not hot",
        impact="Programs are correct, but several times slower than on the same card elsewhere.",
        remedy=_full_power,
    ),
    fix="On a laptop, connect its power supply and choose performance mode; on a desktop, reset locked clocks.",
    doc="""A GPU under load raises its clocks and takes the power that its limit allows.

    Laptops divide power between processor and GPU by their firmware, charger, and mode; their limit changes while they
    run. On a desktop, locked clocks, a power saver, or a state that remained after sleep hold a GPU down.
    """,
    rank=63,
    explained_by=("thermal-throttle", "hw-power-brake", "power-reading-impossible", "power-limit-lowered"),
    references=threads(
        "johnfanv2/LenovoLegionLinux#419", "jakeday/linux-surface#501", "NVIDIA/open-gpu-kernel-modules#483"
    ),
)
told_by_program(
    Fault(
        "laptop-gpu-switch-hangs",
        "The laptop hangs when its GPU is turned off or on",
        impact="The whole machine freezes; only a restart helps.",
        remedy="The laptop's firmware (ACPI) and the kernel switch the GPU's power in ways that do not fit together. "
        "Let only one of them do it: remove bbswitch and the switching by Bumblebee, optimus-manager, or TLP (current "
        "kernels turn the port off by themselves), and let the driver put an idle GPU to sleep "
        "(its option NVreg_DynamicPowerManagement=0x02, for Turing and newer). Where it still hangs, keep the GPU on: "
        "boot with pcie_port_pm=off, or write on to the device's power/control. Update the firmware; some laptops need "
        "an acpi_osi or acpi_rev_override option that is known for the model.",
        steps=(fixed("cat /proc/acpi/bbswitch"), fixed("grep -r . /etc/modprobe.d")),
    ),
    fix="Leave power switching to the kernel and the driver alone, or keep the GPU on.",
    doc="""A laptop's GPU can be turned off and on while the machine runs.

    bbswitch calls the firmware's own methods (_DSM, _OFF), newer kernels power off the PCIe port (D3cold). Firmware
    that was tested with one of them hangs with the other, often at the next lspci or start of the display server.
    """,
    rank=64,
    references=threads("Bumblebee-Project/bbswitch#143", "Bumblebee-Project/Bumblebee#764"),
)
told_by_program(
    Fault(
        "gpu-not-requested",
        "The program has a GPU and was not told to use it",
        impact="It computes on the CPU, which is slow; driver, CUDA, and framework are in order.",
        remedy="Name the GPU where the program or library asks for a device: device=0 (or device_map='auto') in a "
        "Transformers pipeline, accelerator='gpu' and devices=1 in Lightning's Trainer (gpus=1 in older releases), "
        "--device, --gpus, or --gpu in a script; its --help says which. The command shows whether it is used then.",
        steps=(fixed("nvidia-smi"),),
        status=Status.WARN,
    ),
    fix="Pass the GPU as the program's device.",
    doc="""A program that has a GPU uses it where its user expects that.

    Many programs and libraries compute on the CPU unless they are told otherwise, and say so in a warning.
    """,
    rank=70,
    explained_by=("cpu-only-wheel", "framework-sees-no-gpu"),
    references=threads("samsledje/ConPLex#37"),
)
