"""Another kernel driver holds the GPU: vfio for virtual machines, nouveau, NovaCore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.evidence import NO_OWN_DRIVER, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import complained, message_evidence, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import families, remedy
from envkit.checks.gpu.gpus import SeenGpu, reserved_for_vms, seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment, PciGpu

if TYPE_CHECKING:
    from envkit.tables import Matrix


_HOST_KERNEL = "-pve"  # of Proxmox VE
_IDS = regex(r"\bvfio-pci\.ids=(?P<ids>[0-9a-fA-F:,]+)")


def _given_back(environment: Environment, matrix: Matrix) -> Remedy:
    advice = (
        "Only if the host itself should use the GPU, stop the virtual machines that use it, remove its IDs from the "
        "kernel options and from /etc/modprobe.d, and reboot; then install the driver."
    )
    held = reserved_for_vms(environment)
    others = [gpu for gpu in environment.pci_gpus.value or () if gpu.driver == "nvidia"]
    if len(held) == 1 and others and seen(environment, "gpu-bound-to-vfio", "detail-stopped"):
        return remedy(
            environment,
            "The virtual machine is stopped, but its GPU was left with vfio-pci. While no virtual machine uses it, "
            "give it back to NVIDIA's driver, which runs the other GPUs; no restart is needed. The setting in "
            "driver_override is gone after a reboot, and the next start of the machine replaces it. If it happens each "
            "time, update what runs the machines.",
            "give-back-from-vfio",
            address=held[0].pci_address,
        )
    option = _IDS.search(environment.kernel.cmdline.value or "")
    if option is None:
        return remedy(environment, advice, "find-vfio")
    return remedy(environment, advice, "find-vfio", "free-vfio", ids=option["ids"])


_RESERVED = Fault(
    "gpu-bound-to-vfio",
    "A GPU is reserved for virtual machines",
    impact="Programs on this machine cannot use it. On a virtualization host that is intended; no action is needed.",
    remedy=_given_back,
)
_MODULE_UNFIT = (  # nouveau takes the GPU where NVIDIA's module cannot be loaded
    "kernel-headers-missing",
    "dkms-build-failed",
    "secure-boot-unsigned-module",
    "module-missing-for-running-kernel",
)
_OF_THE_KERNEL = {"nouveau": "nouveau", "NovaCore": "NovaCore", "nova_core": "NovaCore", "nova-core": "NovaCore"}
_CALLS_FOR_A_DRIVER = ("driver-not-installed", "driver-module-not-loaded", "device-nodes-missing")
_HELD = "NVIDIA's driver cannot use a GPU that is bound to another driver; CUDA finds no device."
_BLOCK = "Block nouveau, rebuild the initramfs, and reboot."


def _without_nouveau(environment: Environment, matrix: Matrix) -> Remedy:
    """NVIDIA's module has to be there first, on the machine itself or in the operator's driver container."""
    if "gpu-operator" in managers(environment):
        return remedy(
            environment,
            f"On each GPU node: {_BLOCK[0].lower()}{_BLOCK[1:]} The driver container then loads NVIDIA's module. To "
            "undo it, remove the file that the first command writes.",
            "block-nouveau-on-node",
            "initramfs",
            "reboot",
        )
    if seen(environment, "nouveau-loaded", "installer", "told-installer"):
        return remedy(
            environment,
            f"{_BLOCK} Then run the NVIDIA installer again: it stopped because nouveau was running. Blocking it "
            "without the last two steps is not enough, because the initramfs loads it first. Until the driver is "
            "installed, the display runs in a basic mode. To undo it, remove the file that the first command writes "
            "and rebuild the initramfs.",
            "block-nouveau-on-node",
            "initramfs",
            "reboot",
        )
    return remedy(
        environment,
        f"{_BLOCK} The first command does so only if NVIDIA's module exists for this kernel: otherwise "
        f"there would be no display driver. If it finds no module, skip the rest and install the driver "
        f"({_how_installed(environment)}), whose packages block nouveau. To undo this, remove the file that the first "
        "command writes, and rebuild the initramfs.",
        "block-nouveau",
        "initramfs",
        "reboot",
    )


def _how_installed(environment: Environment) -> str:
    """The command of the distribution, or of each where the text names none."""
    return next(
        (words for family, words in _INSTALLED.items() if family in families(environment)),
        "on Ubuntu: sudo ubuntu-drivers install; on Fedora, with RPM Fusion: sudo dnf install akmod-nvidia",
    )


_INSTALLED = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt-get install nvidia-driver, from the sections contrib and non-free",
    "fedora": "with RPM Fusion: sudo dnf install akmod-nvidia, then wait until modinfo -F version nvidia "
    "prints a version",
    "arch": "sudo pacman -S nvidia-open",
}
_NOUVEAU = Fault(
    "nouveau-loaded",
    "nouveau is bound to the GPU instead of NVIDIA's driver",
    impact=_HELD,
    remedy=_without_nouveau,
)
_NOVA = Fault(
    "nova-core-bound",
    "NovaCore is bound to the GPU instead of NVIDIA's driver",
    impact=_HELD,
    remedy="If NVIDIA's module exists for this kernel (otherwise there would be no display driver), block NovaCore "
    "(nova_core and nova_drm) with a file in /etc/modprobe.d, rebuild the initramfs, and reboot. To undo it, remove "
    "that file.",
    actions=("block-nova", "initramfs", "reboot"),
)


@check(
    _RESERVED,
    layer=Layer.PCI,
    rank=40,
    fix="If the host itself should use the GPU, remove its IDs from the kernel options and reboot.",
    any_of=("pci_gpus", "messages"),
    explained_by=("passthrough-blocked", "vgpu-not-started", "gpu-refused-in-vm"),
    references=("https://github.com/NVIDIA/gpu-operator",),
)
def gpu_bound_to_vfio(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """At least one GPU is not reserved for virtual machines (vfio-pci, pci-stub).

    A reserved GPU has no device node on the host. That is intended on a virtual-machine host, when other GPUs are left
    to the driver, or when the input shows that the guest's driver works.
    """
    reserved = reserved_for_vms(environment)
    everything = bool(reserved) and len(reserved) == len(environment.pci_gpus.get()) and not environment.gpus.value
    for gpu in reserved if everything else ():
        yield _kept_back(environment, gpu)
    if not everything:
        words = "the others are reserved for virtual machines" if reserved else "no GPU is bound to vfio-pci"
        missed = seen(environment, _RESERVED.id, "complaint-told-kept") if reserved else ()
        if missed:
            evidence = [*message_evidence(environment, missed), *(_holder(environment, gpu) for gpu in reserved)]
            yield _RESERVED.found(evidence, subject=f"GPU {reserved[0].pci_address}")
        else:
            yield (None if reserved else _RESERVED.reported(environment)) or _free(environment, words)


def _kept_back(environment: Environment, gpu: PciGpu) -> Outcome:
    title = f"{gpu.name or 'This GPU'} is reserved for virtual machines by {gpu.driver}"
    evidence = [_holder(environment, gpu), *_options(environment)]
    subject = f"GPU {gpu.pci_address}"
    hosts = hosts_guests(environment)
    if hosts is not None and not complained(environment):
        return ok(f"{title}, which this machine hosts", subject=subject, evidence=[*evidence, hosts])
    wanted = hosts is not None or _wanted_here(environment)
    return _RESERVED.found(evidence, title=title, subject=subject, status=Status.FAIL if wanted else Status.WARN)


def hosts_guests(environment: Environment) -> Evidence | None:
    """What shows that virtual machines run here: a driver that the text describes can then be that of a guest."""
    kernel = environment.system.kernel
    if kernel.known and _HOST_KERNEL in kernel.get():
        return known(environment, "system.kernel")
    return known(environment, "system.hosted_guests") if environment.system.hosted_guests.known else None


def _wanted_here(environment: Environment) -> bool:
    """Whether this machine has a driver, or somebody calls for one, and not its virtual machines alone."""
    return installed(environment) is not None or any(seen(environment, id) for id in _CALLS_FOR_A_DRIVER)


def _options(environment: Environment) -> list[Evidence]:
    return [known(environment, "kernel.cmdline")] if "vfio" in (environment.kernel.cmdline.value or "") else []


@check(
    _NOUVEAU,
    layer=Layer.KERNEL_MODULE,
    rank=10,
    any_of=("pci_gpus", "messages"),
    explained_by=("driver-not-installed", "driver-dropped-gpu", *_MODULE_UNFIT),
    elsewhere=NO_OWN_DRIVER,
    fix="Block nouveau, rebuild the initramfs, and reboot; NVIDIA's module has to be installed first.",
    references=threads("kubernetes-sigs/image-builder#1468", "negativo17/nvidia-driver#73", "mattshma/bigdata#133"),
)
def nouveau_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No NVIDIA GPU is bound to nouveau.

    Only one driver can own a device: while nouveau has the GPU, NVIDIA's module cannot use it. It is fine for the
    nouveau module to be loaded for another card.
    """
    yield from _other_driver(environment, matrix, _NOUVEAU, "nouveau")


@check(
    _NOVA,
    layer=Layer.KERNEL_MODULE,
    rank=11,
    any_of=("pci_gpus", "messages"),
    explained_by=("driver-not-installed",),
    elsewhere=NO_OWN_DRIVER,
    references=threads("beclab/Olares#3963"),
)
def nova_core_bound(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No NVIDIA GPU is bound to NovaCore, the kernel's own driver for Turing and later.

    New kernels load it first, as older ones did with nouveau; NVIDIA's module then cannot use the GPU.
    """
    yield from _other_driver(environment, matrix, _NOVA, "NovaCore")


def left_to_another_driver(environment: Environment, matrix: Matrix) -> tuple[SeenGpu, ...]:
    """The cards that are too old for the driver and have one of the kernel's own, next to a GPU that works.

    An old card for the display is kept like that.
    """
    gpus, version = seen_gpus(environment, matrix), installed(environment)
    if not any(gpu.works for gpu in gpus) or (version is None and not only_shown(environment)):
        return ()
    own = (gpu for gpu in gpus if gpu.pci is not None and gpu.pci.driver in _OF_THE_KERNEL)
    unknown_ones = only_shown(environment)  # cards that no table holds are older than all that a driver has now
    return tuple(
        gpu
        for gpu in own
        if (gpu.models or unknown_ones) and all(_too_old(model.last_driver_branch, version) for model in gpu.models)
    )


def _too_old(last_branch: int | None, version: Version | None) -> bool:
    """Whether this driver lacks a card of that last branch; of a driver of unknown version, any branch is past."""
    return last_branch is not None and (version is None or last_branch < version.major)


def _other_driver(environment: Environment, matrix: Matrix, fault: Fault, holder: str) -> Iterator[Outcome]:
    names = [name for name, title in _OF_THE_KERNEL.items() if title == holder]
    left = {gpu.address for gpu in left_to_another_driver(environment, matrix)}
    held = [gpu for gpu in _pci(environment) if gpu.driver in names and gpu.pci_address not in left]
    for gpu in held:
        yield fault.found(
            [_holder(environment, gpu)],
            title=f"{gpu.name or 'The GPU'} is bound to {holder}, not to NVIDIA's driver",
            subject=f"GPU {gpu.pci_address}",
        )
    if not held:
        yield _free(environment, f"no NVIDIA GPU is bound to {holder}")


def _drivers_known(environment: Environment) -> bool:
    """False where PCI was not probed, or by a program that does not tell the drivers (plain lspci)."""
    return environment.pci_gpus.known and all(gpu.driver is not None for gpu in _pci(environment))


def _free(environment: Environment, title: str) -> Outcome:
    if _drivers_known(environment):
        return ok(title, evidence=[_holder(environment, gpu) for gpu in _pci(environment)])
    return unknown(unseen(environment, "the drivers bound to the GPUs"))


def _pci(environment: Environment) -> tuple[PciGpu, ...]:
    return environment.pci_gpus.get() if environment.pci_gpus.known else ()


def _holder(environment: Environment, gpu: PciGpu) -> Evidence:
    return Evidence(f"pci_gpus[{gpu.pci_address}].driver", gpu.driver or "none", environment.pci_gpus.source)
