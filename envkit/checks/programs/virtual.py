"""What a host says where it cannot give a GPU to a virtual machine, whole or as a vGPU."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.references import threads
from envkit.checks.programs.told import told_by_program

told_by_program(
    Fault(
        "passthrough-blocked",
        "The host cannot pass the GPU through to a virtual machine",
        impact="The virtual machine does not start, or starts without the GPU.",
        remedy="The IOMMU must be on (VT-d or AMD-Vi in the firmware, and intel_iommu=on in the kernel's command line "
        "of an Intel host), and every device in the GPU's IOMMU group, its audio and USB functions too, must be bound "
        "to vfio-pci and passed through together. If the group holds other devices, use another slot. If the host's "
        "own console or framebuffer holds the card's memory (\"can't reserve\"), make another GPU the primary one, or "
        "add initcall_blacklist=sysfb_init. If the card does not come back after a reset, power the host off and on.",
        steps=(
            fixed("cat /proc/cmdline"),
            fixed("sudo dmesg"),
            fixed("lspci -nnk -d 10de:"),
            fixed("find /sys/kernel/iommu_groups -type l"),
        ),
    ),
    doc="""A host that passes a GPU to a virtual machine has an IOMMU, and hands over the card's whole group.

    VFIO refuses a group of which another driver still owns a device, because that device could reach the guest's
    memory.
    """,
    rank=39,
    references=threads("64kramsystem/vga-passthrough#15", "NVIDIA/kubevirt-gpu-device-plugin#45"),
)
told_by_program(
    Fault(
        "vgpu-not-started",
        "The host's vGPU manager cannot create or start the vGPU",
        impact="The virtual machine does not start, or has no GPU.",
        remedy="Read the log of nvidia-vgpu-mgr from that moment. On Ampere and newer, enable the virtual functions "
        "first (second command), and create the device on one of them. All vGPUs of one GPU must have the same frame "
        "buffer size, unless it is in mixed-size mode; available_instances in the type's directory shows how many "
        "still fit. The card must be one that supports vGPU, with ECC or MIG as the profile needs it, no other "
        "program using it, and the manager (vgpu-kvm) loaded for this kernel.",
        steps=(
            fixed("journalctl -b -u nvidia-vgpu-mgr -u nvidia-vgpud"),
            fixed("sudo /usr/lib/nvidia/sriov-manage -e ALL"),
            fixed("mdevctl types"),
        ),
    ),
    fix="Read the vGPU manager's log; enable the virtual functions; create one that still fits.",
    doc="""The vGPU manager on a host can create the vGPU that a virtual machine is given.

    It checks the card, the profile, and what is left of the card when the virtual machine starts.
    """,
    rank=40,
    references=threads("DualCoder/vgpu_unlock#95", "DualCoder/vgpu_unlock#57", "NVIDIA/nvidia-installer#15"),
)
