"""Another kernel driver holds the GPU: vfio for virtual machines, nouveau, NovaCore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import NO_OWN_DRIVER, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Status, ok, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.gpus import reserved_for_vms
from envkit.model import Environment, PciGpu

if TYPE_CHECKING:
    from envkit.tables import Matrix


_RESERVED = Fault(
    "gpu-bound-to-vfio",
    "A GPU is reserved for virtual machines",
    impact="Programs of this machine cannot use it. On a host of virtual machines that is intended: stop here.",
    remedy="Only if the GPU is meant for this machine: remove the vfio-pci ids from the kernel options and from "
    "/etc/modprobe.d, rebuild the initramfs and reboot.",
    actions=("find-vfio", "initramfs", "reboot"),
)
_MODULE_UNFIT = (  # nouveau takes the GPU where NVIDIA's module cannot be loaded
    "kernel-headers-missing",
    "dkms-build-failed",
    "secure-boot-unsigned-module",
    "module-missing-for-running-kernel",
)
_HELD = "NVIDIA's driver cannot use a GPU that another driver holds; CUDA finds no device."
_NOUVEAU = Fault(
    "nouveau-loaded",
    "nouveau is bound to the GPU instead of NVIDIA's driver",
    impact=_HELD,
    remedy="Block nouveau, rebuild the initramfs and reboot.",
    actions=("block-nouveau", "initramfs", "reboot"),
)
_NOVA = Fault(
    "nova-core-bound",
    "NovaCore is bound to the GPU instead of NVIDIA's driver",
    impact=_HELD,
    remedy="Block NovaCore (nova_core and nova_drm), rebuild the initramfs and reboot.",
    actions=("block-nova", "initramfs", "reboot"),
)


@check(
    _RESERVED,
    layer=Layer.PCI,
    rank=40,
    any_of=("pci_gpus", "messages"),
    references=("https://github.com/NVIDIA/gpu-operator",),
)
def gpu_bound_to_vfio(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No GPU is held back for virtual machines (vfio-pci, pci-stub).

    A reserved GPU has no device node here; on a host of virtual machines that is wanted.
    """
    reserved = reserved_for_vms(environment)
    everything = bool(reserved) and len(reserved) == len(environment.pci_gpus.get())
    for gpu in reserved:
        yield _RESERVED.found(
            [_holder(environment, gpu), *_options(environment)],
            title=f"{gpu.name or 'This GPU'} is reserved for virtual machines by {gpu.driver}",
            subject=f"GPU {gpu.pci_address}",
            status=Status.FAIL if everything else Status.WARN,
        )
    if not reserved:
        yield _RESERVED.reported(environment) or _free(environment, "no GPU is bound to vfio-pci")


def _options(environment: Environment) -> list[Evidence]:
    return [known(environment, "kernel.cmdline")] if "vfio" in (environment.kernel.cmdline.value or "") else []


@check(
    _NOUVEAU,
    layer=Layer.KERNEL_MODULE,
    rank=10,
    any_of=("pci_gpus", "messages"),
    explained_by=("driver-not-installed", "driver-dropped-gpu", *_MODULE_UNFIT),
    elsewhere=NO_OWN_DRIVER,
    references=threads("kubernetes-sigs/image-builder#1468", "negativo17/nvidia-driver#73", "mattshma/bigdata#133"),
)
def nouveau_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No NVIDIA GPU is bound to nouveau.

    One driver owns a device: while nouveau has the GPU, NVIDIA's module cannot take it. That the nouveau module is
    loaded for another card is no fault.
    """
    yield from _other_driver(environment, _NOUVEAU, "nouveau", ("nouveau",))


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

    New kernels load it first, as older ones did with nouveau; NVIDIA's module then cannot take the GPU.
    """
    yield from _other_driver(environment, _NOVA, "NovaCore", ("NovaCore", "nova_core", "nova-core"))


def _other_driver(environment: Environment, fault: Fault, holder: str, names: tuple[str, ...]) -> Iterator[Outcome]:
    held = [gpu for gpu in _pci(environment) if gpu.driver in names]
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
    return unknown("the drivers bound to the GPUs were not probed")


def _pci(environment: Environment) -> tuple[PciGpu, ...]:
    return environment.pci_gpus.get() if environment.pci_gpus.known else ()


def _holder(environment: Environment, gpu: PciGpu) -> Evidence:
    return Evidence(f"pci_gpus[{gpu.pci_address}].driver", gpu.driver or "none", environment.pci_gpus.source)
