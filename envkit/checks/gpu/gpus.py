"""The GPUs of an environment, joined from PCI, NVML and the model table, so that checks speak of one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.base.pci import pci_address
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, Gpu, Observed, PciGpu
from envkit.model.clock_reasons import HELD_DOWN, IDLE

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import GpuModel

_Item = TypeVar("_Item")
BUSY_PERCENT = 80  # utilisation from which clocks and link speed are those of work, not of idling
_NVSWITCH_BOARD = regex(r"SXM|HGX|DGX|80GB HBM3|\bH20\b|\bH200\b(?! NVL)|\bB[123]00\b")
_RACK = regex(r"\bGB[23]00\b")
_GRACE = regex(r"\bG[HB]\d{2,3}\b")
_NO_PEERS = regex(r"GeForce RTX|TITAN RTX")
_VGPU_MODULE = "nvidia_vgpu_vfio"
_PART = regex(r"-\d{1,3}[ABCQ]$")  # a virtual GPU is called after its card and its share of it
_LAPTOP = regex(r"laptop|max-q(?! workstation)|mobile|notebook", re.IGNORECASE)


def gpus_of(environment: Environment) -> tuple[Gpu, ...]:
    """The GPUs that NVML or a text describes; empty when unknown."""
    return environment.gpus.get() if environment.gpus.known else ()


@record
class SeenGpu:
    """One GPU: what PCI and NVML say of it (None where they do not) and the models that it can be."""

    address: str  # 0000:65:00.0, '' when unknown
    name: str
    pci: PciGpu | None
    nvml: Gpu | None
    models: tuple[GpuModel, ...]

    @property
    def subject(self) -> str:
        """How reports name it."""
        if self.address:
            return f"GPU {self.address}"
        return f"GPU {self.nvml.index}" if self.nvml is not None else "GPU"

    @property
    def title(self) -> str:
        """Its model in words, or its place where the model is not known."""
        return self.name or self.subject

    @property
    def called(self) -> str:
        """Its title within a sentence: with its article where the model is known."""
        return f"the {self.name}" if self.name else self.subject

    @property
    def laptop(self) -> bool:
        """True when the model is made for laptops."""
        return bool(_LAPTOP.search(self.name)) or any(model.variant == "laptop" for model in self.models)

    @property
    def slotless(self) -> bool:
        """True for a GPU that is built onto its processor or module: what it says of PCIe is not a link of a card."""
        return bool(self.models) and all(model.architecture and not model.pcie_lanes for model in self.models)

    @property
    def data_center(self) -> bool:
        """True when every model that it can be is made for servers."""
        return bool(self.models) and all(model.data_center for model in self.models)

    @property
    def exchanges(self) -> bool:
        """True where it may exchange data with another GPU over PCIe: not in MIG mode, and not a GeForce RTX."""
        return not _NO_PEERS.search(self.name) and not (self.nvml is not None and self.nvml.mig_mode)

    @property
    def works(self) -> bool:
        """True when NVML lists it without an error: the loaded driver drives it."""
        return self.nvml is not None and not self.nvml.error

    @property
    def busy(self) -> bool | None:
        """True when it works hard now, None when nobody says."""
        if self.nvml is None:
            return None
        if self.nvml.utilization_percent is None:
            return _held_down(self.nvml.throttle_reasons)
        return self.nvml.utilization_percent >= BUSY_PERCENT


def _held_down(reasons: int | None) -> bool | None:
    """Whether something holds the clocks down, which only work makes necessary; None where that is not told."""
    if reasons is None:
        return None
    return False if reasons & IDLE else True if reasons & HELD_DOWN else None


@kept
def seen_gpus(environment: Environment, matrix: Matrix) -> tuple[SeenGpu, ...]:
    """Every GPU that PCI or NVML shows, in PCI order, then those that only NVML or a text knows."""
    nvml = _value(environment.gpus)
    by_address = {pci_address(gpu.pci_address): gpu for gpu in nvml if gpu.pci_address}
    pci = _value(environment.pci_gpus)
    shown = {pci_address(gpu.pci_address) for gpu in pci}
    pairs: list[tuple[PciGpu | None, Gpu | None]] = [(gpu, by_address.get(pci_address(gpu.pci_address))) for gpu in pci]
    if pci and not by_address and len(pci) == len(nvml):  # a list without addresses is in PCI order
        pairs = list(zip(pci, nvml, strict=True))
    else:
        pairs += [(None, gpu) for gpu in nvml if pci_address(gpu.pci_address) not in shown]
    module = environment.driver.kernel_module.value
    return tuple(_driven(_joined(card, gpu, matrix), module) for card, gpu in pairs)


def could_be(gpu: Gpu, environment: Environment) -> tuple[ComputeCapability, ...]:
    """The compute capabilities of the chips that have the name of a GPU; empty where no model is known."""
    from envkit.tables import Matrix

    if gpu.name.endswith("..."):  # cut off, so of any model
        return ()
    seen = next((one for one in seen_gpus(environment, Matrix.load()) if one.nvml is gpu), None)
    return tuple(sorted({row.compute_capability for row in seen.models})) if seen is not None else ()


def _driven(gpu: SeenGpu, module: Version | None) -> SeenGpu:
    """The GPU without the models that a driver at work on it lacks: with 470, a `GeForce GT 730` is no Fermi."""
    if len(gpu.models) < 2 or module is None or not gpu.works:
        return gpu
    had = tuple(row for row in gpu.models if row.last_driver_branch is None or row.last_driver_branch >= module.major)
    return SeenGpu(gpu.address, gpu.name, gpu.pci, gpu.nvml, had or gpu.models)


def all_work(environment: Environment, matrix: Matrix) -> bool:
    """Whether there are GPUs and the loaded driver drives each."""
    gpus = seen_gpus(environment, matrix)
    return bool(gpus) and all(gpu.works for gpu in gpus)


def on_nvswitch_board(name: str) -> bool:
    """True for a GPU whose name says that it sits on an NVSwitch baseboard (HGX, DGX)."""
    return bool(_NVSWITCH_BOARD.search(name))


def has_nvswitch_board(environment: Environment) -> bool:
    """True where one of the GPUs that were told sits on such a board."""
    return any(on_nvswitch_board(gpu.name) for gpu in gpus_of(environment))


def is_vgpu(gpu: Gpu) -> bool:
    """True for a virtual GPU, as its driver or its name (A40-8Q) says."""
    return gpu.virtualization_mode == "vgpu" or bool(_PART.search(gpu.name))


def on_grace(name: str) -> bool:
    """Whether a GPU of this name is on one board with an Arm processor (GH200, GB200, GB10)."""
    return bool(_GRACE.search(name))


def in_a_rack(name: str) -> bool:
    """True for a GPU whose NVSwitches, with their Fabric Manager, are in trays of their own."""
    return bool(_RACK.search(name))


def reserved_for_vms(environment: Environment) -> tuple[PciGpu, ...]:
    """The GPUs that this machine keeps for virtual machines."""
    return tuple(gpu for gpu in _value(environment.pci_gpus) if gpu.driver in ("vfio-pci", "pci-stub"))


def lends_vgpus(environment: Environment) -> bool:
    """True on a host whose driver returns virtual GPUs: it serves guests, and has no CUDA of its own."""
    gpus = _value(environment.gpus)
    lent = bool(gpus) and all((gpu.virtualization_mode or "").startswith("host-") for gpu in gpus)
    return lent or _VGPU_MODULE in _value(environment.kernel.loaded_modules)


def _joined(pci: PciGpu | None, nvml: Gpu | None, matrix: Matrix) -> SeenGpu:
    address = pci.pci_address if pci is not None else pci_address(nvml.pci_address) if nvml is not None else ""
    name = (nvml.name if nvml is not None else "") or (pci.name if pci is not None else "")
    models = matrix.gpus_by_device_id(pci.device_id) if pci is not None else ()
    if name:
        model = matrix.gpu_by_name(name)
        if model is not None:
            models = (model,)
        elif not models:
            from envkit.solver.gpu_name import models_of

            models = models_of(name, matrix)
    return SeenGpu(address, name or (models[0].name if len(models) == 1 else ""), pci, nvml, tuple(models))


def _value(observed: Observed[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return observed.get() if observed.known else ()


def share_of_power(gpus: Iterable[SeenGpu], share: float) -> int | None:
    """Watts: a share of the least power of these models, to tens; None where none is known, or they differ much."""
    powers = [model.tdp_w for gpu in gpus for model in gpu.models if model.tdp_w]
    alike = powers and min(powers) > max(powers) * share  # a limit for all may be below what a larger card accepts
    return int(round(min(powers) * share, -1)) if alike else None
