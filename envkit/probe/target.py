"""The few facts that a plan asks of a machine, read one after the other: files, and NVML only where they do not tell.

`envkit.solver.target` says what a plan takes from an environment. Asking only for that takes milliseconds, where the
whole probe starts programs and waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from envkit._startup.records import replace
from envkit.host.base import Host
from envkit.model import Driver, Environment, Gpu, Observed, PciGpu, System
from envkit.probe import machine, os_release, pci

Models = Callable[[str], Sequence[object]]  # the GPU models of a PCI device id


def target_facts(host: Host, models: Models, limit_s: float = 4.0) -> Environment:
    """The system, driver and GPUs of `host` as the whole probe finds them; every other fact is NOT_LOOKED.

    NVML is asked, for at most `limit_s` seconds, unless PCI shows GPUs of exactly one model.
    """
    system = System(
        os=os_release.distribution(host),
        architecture=os_release.architecture(host),
        glibc=os_release.glibc(host),
        machine_kind=machine.machine_kind(host),
    )
    pci_gpus: Observed[tuple[PciGpu, ...]] = pci.probe(host)["pci_gpus"]
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    environment = Environment(host.origin, moment, system=system, driver=_driver(host), pci_gpus=pci_gpus)
    if _told_by_pci(pci_gpus, models):
        return environment
    return replace(environment, gpus=_gpus(host, limit_s))


def _driver(host: Host) -> Driver:
    """The loaded module's version, otherwise that of the libraries, whose search costs more than all the rest."""
    from envkit.probe import driver

    module = driver.kernel_module(host)
    if module.known:
        return Driver(kernel_module=module)
    return Driver(kernel_module=module, user_space=driver.user_space(host))


def _told_by_pci(gpus: Observed[tuple[PciGpu, ...]], models: Models) -> bool:
    """True when PCI shows GPUs of one model: none of them can be hidden or have another name."""
    devices = {gpu.device_id for gpu in gpus.value or ()}
    return len(devices) == 1 and len(models(devices.pop())) == 1


def _gpus(host: Host, limit_s: float) -> Observed[tuple[Gpu, ...]]:
    from envkit.probe import nvml

    observed: Observed[tuple[Gpu, ...]] = nvml.probe(host, limit_s)["gpus"]
    return observed
