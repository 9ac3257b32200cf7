"""The request completed from a machine: what the user left open is filled in with what was observed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.platforms import JETSON, WINDOWS, WINDOWS_DRIVERS, WSL
from envkit.base.versions import Version
from envkit.compat.tables import GpuTables
from envkit.solver.request import Request, TargetGpu
from envkit.tables.rows import GpuModel

if TYPE_CHECKING:  # a request for no machine in particular does without the facts
    from envkit.model import Environment, Gpu, PciGpu

_PLATFORMS = {"wsl1": WSL, "wsl2": WSL, "jetson": JETSON}  # by MachineKind's value


def for_environment(request: Request, environment: Environment, matrix: GpuTables) -> Request:
    """The request with the machine's system, processor, glibc, driver and GPUs where the user asked for none.

    What was not observed stays None. An image is not bound to the machine's system, only to its driver and GPUs.
    A system that the user named keeps its own glibc.
    """
    system = environment.system
    completed = request
    named = "arch" in request.asked or any(gpu.architecture for gpu in request.gpus)
    if not named and system.architecture.known:
        completed = replace(completed, architecture=system.architecture.get())
    own = platform_of(environment)
    if request.os_id is None and request.platform != WINDOWS and not request.container:
        os_id = system.os.get().os_id if system.os.known and own != WINDOWS else None
        completed = replace(completed, os_id=os_id, glibc=system.glibc.value if system.glibc.known else None)
    if request.platform == Request().platform and own and not request.container:
        # a distribution that was named for a machine with Windows runs next to it, under its driver
        completed = replace(completed, platform=WSL if own == WINDOWS and request.os_id is not None else own)
    if request.driver is None and _numbers_alike(completed.platform, own):
        completed = replace(completed, driver=driver_of(environment))
    if not request.gpus:
        pci = environment.pci_gpus
        none = (pci.absent or (pci.known and not pci.get())) and not environment.gpus.value
        completed = replace(completed, gpus=gpus_of(environment, matrix), no_gpu=none)
    return completed


def platform_of(environment: Environment) -> str | None:
    """The machine's platform where it is another than Linux with its own driver; else, and where not seen, None."""
    system = environment.system
    if system.os.known and system.os.get().os_id == WINDOWS:
        return WINDOWS
    return _PLATFORMS.get(system.machine_kind.get().value) if system.machine_kind.known else None


def _numbers_alike(platform: str, machine: str | None) -> bool:
    """Whether a machine's driver has the numbers of the platform that is asked for: those of Windows are others.

    A container's host is Linux as far as the request says; its driver is the machine's, whatever that is.
    """
    return (platform in WINDOWS_DRIVERS) == (machine in WINDOWS_DRIVERS) or platform == Request().platform


def driver_of(environment: Environment) -> Version | None:
    """The loaded kernel module's version, otherwise that of the driver's libraries; None when neither was seen."""
    driver = environment.driver
    for fact in (driver.kernel_module, driver.user_space):
        if fact.known:
            return fact.get()
    return None


def gpus_of(environment: Environment, matrix: GpuTables) -> tuple[TargetGpu, ...]:
    """The machine's GPUs whose compute capability is known, from the driver, otherwise from their PCI ids."""
    if environment.gpus.known and environment.gpus.get():
        found = (_from_driver(gpu, matrix) for gpu in environment.gpus.get())
    elif environment.pci_gpus.known:
        found = (_from_pci(gpu, matrix) for gpu in environment.pci_gpus.get())
    else:
        return ()
    return tuple(dict.fromkeys(gpu for gpu in found if gpu is not None))


def _from_driver(gpu: Gpu, matrix: GpuTables) -> TargetGpu | None:
    model = matrix.gpu_by_name(gpu.name)
    capability = gpu.compute_capability or (model.compute_capability if model else None)
    if capability is None:
        return None
    if model is None:
        return TargetGpu(capability, gpu.name)
    return replace(target_gpu(model), compute_capability=capability)


def _from_pci(gpu: PciGpu, matrix: GpuTables) -> TargetGpu | None:
    models = matrix.gpus_by_device_id(gpu.device_id)
    if models:
        return target_gpu(models[0])
    if gpu.compute_capability is not None:
        return TargetGpu(gpu.compute_capability, gpu.name)
    return _from_name(gpu.name, matrix) if gpu.name else None


def _from_name(name: str, matrix: GpuTables) -> TargetGpu | None:
    """A GPU that is known by what somebody called it; None where that fits models of several capabilities."""
    model = matrix.gpu_by_name(name)
    if model is not None:
        return target_gpu(model)
    from envkit.solver.gpu_name import models_of

    possible = {model.compute_capability for model in models_of(name, matrix)}
    return TargetGpu(possible.pop(), name) if len(possible) == 1 else None


def target_gpu(model: GpuModel) -> TargetGpu:
    """A GPU model as something that a plan must work on."""
    return TargetGpu(
        model.compute_capability,
        model.name,
        model.last_driver_branch,
        model.data_center,
        model.memory_gb,
        model.architecture,
        JETSON if model.variant == JETSON else None,
        model.first_driver,
    )
