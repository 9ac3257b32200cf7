"""What a host says where it cannot give a GPU to a virtual machine, whole or as a vGPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.pci import pci_address
from envkit.base.versions import ComputeCapability
from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, number_named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.frameworks.installs import capable_gpus
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_GROUP = (
    "The IOMMU must be on (VT-d or AMD-Vi in the firmware, and intel_iommu=on in the kernel's command line of an Intel "
    "host), and every device in the GPU's IOMMU group, its audio and USB functions too, must be bound to vfio-pci and "
    "passed through together. If the group holds other devices, use another slot. If the card does not come back after "
    "a reset, power the host off and on."
)
_AUDIO = (
    "The GPU is bound to vfio-pci, but its audio function, which is in the same IOMMU group, still belongs to "
    "snd_hda_intel. Bind both: the commands write both IDs to /etc/modprobe.d/vfio.conf (which they replace; if it has "
    "other IDs too, add them), and load vfio-pci before the sound driver. After the reboot, lspci -nnk -d 10de: must "
    "show vfio-pci for both, and the host itself can no longer use this GPU. If the virtual machine's definition names "
    "only the GPU, add the audio function."
)
_AUDIO_NOW = (
    "The GPU is bound to vfio-pci, but its audio function, which is in the same IOMMU group, still belongs to "
    "snd_hda_intel. The host uses this GPU itself until the virtual machine starts, so reserve nothing at boot: hand "
    "over the audio function in the same way, by these commands, which last until the next restart (for good, put "
    "them into the script, before it starts the machine). The last one must show vfio-pci."
)
_FRAMEBUFFER = (
    "On the Linux host, its own framebuffer still holds the card's memory (grep -A3 efifb /proc/iomem shows it), so "
    "that vfio-pci cannot reserve it. Boot the host without that framebuffer: the first command adds "
    "initcall_blacklist=sysfb_init to the kernel's command line and keeps the old file as /etc/default/grub.bak "
    "(older kernels: video=efifb:off; without GRUB, in the boot loader's own file). From then on, the host's own "
    "console is black: check beforehand that you can log in by SSH."
)


def _by_message(environment: Environment, matrix: Matrix) -> Remedy:
    """The one way where the message names what is in the way, otherwise what there is to look at."""
    if seen(environment, "passthrough-blocked", "reserve"):
        return Remedy(_FRAMEBUFFER, steps(environment, "no-framebuffer"))
    audio = seen(environment, "passthrough-blocked", "detail-audio")
    address = pci_address(named(seen(environment, "passthrough-blocked", "detail-audio-address"), "pci_address") or "")
    if audio and address and seen(environment, "passthrough-blocked", "detail-optirun", "detail-unbinding"):
        return remedy(environment, _AUDIO_NOW, "audio-to-vfio-now", address=address)
    if audio and seen(environment, "passthrough-blocked", "viable"):
        return remedy(environment, _AUDIO, "audio-to-vfio", ids=f"{named(audio, 'gpu')},{named(audio, 'audio')}")
    return Remedy(
        _GROUP,
        (
            fixed("cat /proc/cmdline"),
            fixed("sudo dmesg"),
            fixed("lspci -nnk -d 10de:"),
            fixed("find /sys/kernel/iommu_groups -type l"),
        ),
    )


_ANY_VGPU = (
    "Read the log of nvidia-vgpu-mgr from that moment. {functions}All vGPUs of one GPU must have the same frame "
    "buffer size, unless it is in mixed-size mode; available_instances in the type's directory shows how many "
    "still fit. The card must be one that supports vGPU, with ECC or MIG as the profile needs it, no other "
    "program using it, and the manager (vgpu-kvm) loaded for this kernel."
)
_FUNCTIONS = "Enable the virtual functions first (second command), and create the device on one of them. "
_LOG = fixed("journalctl -b -u nvidia-vgpu-mgr -u nvidia-vgpud")
_WITH_FUNCTIONS = ComputeCapability(8, 0)  # of vGPU hosts: Ampere and newer


_OF_HOST = Remedy(
    "The package whose name ends in -grid is the guests' driver, without a vGPU manager. On the host, remove it, "
    "install the host's package of the same download (its name ends in -vgpu-kvm), and restart; nvidia-vgpud and "
    "nvidia-vgpu-mgr exist then, and mdevctl lists the types. The -grid package belongs in the virtual machines.",
    (
        fixed("sudo nvidia-uninstall"),
        fixed("sudo sh NVIDIA-Linux-x86_64-VERSION-vgpu-kvm.run --dkms"),
        fixed("sudo reboot"),
        fixed("systemctl status nvidia-vgpud nvidia-vgpu-mgr"),
        fixed("mdevctl types"),
    ),
)


def _vgpu(environment: Environment, matrix: Matrix) -> Remedy:
    """By what the manager's log names; virtual functions are for the GPUs that have them."""
    if seen(environment, "vgpu-not-started", "guest-driver"):
        return _OF_HOST
    if seen(environment, "vgpu-not-started", "detail-framebuffer"):
        return _smaller_profile(environment, matrix)
    owns = [own for _, own in capable_gpus(environment, matrix)]
    older = bool(owns) and all(own.numbers < _WITH_FUNCTIONS.numbers for own in owns)
    functions = () if older else (fixed("sudo /usr/lib/nvidia/sriov-manage -e ALL"),)
    return Remedy(
        _ANY_VGPU.format(functions="" if older else f"On Ampere and newer: {_FUNCTIONS[0].lower()}{_FUNCTIONS[1:]}"),
        (_LOG, *functions, fixed("mdevctl types")),
    )


def _smaller_profile(environment: Environment, matrix: Matrix) -> Remedy:
    """A profile is made for the memory of its own card, which a smaller one does not have."""
    size = number_named(seen(environment, "vgpu-not-started", "detail-profile"), "size")
    cards = {model.memory_gb for gpu in seen_gpus(environment, matrix) for model in gpu.models if model.memory_gb}
    has = f", and this card has {min(cards):g} GB" if cards else ""
    needs = f"{size} MiB of frame buffer{has}" if size else "more frame buffer than is left"
    return Remedy(
        f"The profile needs {needs}, so no vGPU of this type can start. Choose a type whose framebuffer (mdevctl types "
        "prints it) is smaller than the card's memory, of which the host keeps a part; all running vGPUs together "
        "must fit. In Proxmox, that is the MDev type of the machine's PCI device. With vgpu_unlock-rs, a profile's "
        "size can be set instead: framebuffer and framebuffer_reservation under [profile.nvidia-NUMBER] in "
        "/etc/vgpu_unlock/profile_override.toml. The virtual functions of sriov-manage are for Ampere and newer.",
        (fixed("mdevctl types"),),
    )


told_by_program(
    Fault(
        "passthrough-blocked",
        "The host cannot pass the GPU through to a virtual machine",
        impact="The virtual machine does not start, or starts without the GPU.",
        remedy=_by_message,
    ),
    fix="Turn the IOMMU on, pass through the card's whole group, and keep the host's framebuffer off the card.",
    doc="""A host that passes a GPU to a virtual machine has an IOMMU, and hands over the card's whole group.

    VFIO refuses a group if another driver still owns one of its devices, because that device could reach the guest's
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
        remedy=_vgpu,
    ),
    fix="Read the vGPU manager's log; enable the virtual functions; create one that still fits.",
    doc="""The vGPU manager on a host can create the vGPU that a virtual machine is given.

    It checks the card, the profile, and what is left of the card when the virtual machine starts.
    """,
    rank=40,
    references=threads("DualCoder/vgpu_unlock#95", "DualCoder/vgpu_unlock#57", "NVIDIA/nvidia-installer#15"),
)
