"""The driver as a whole: is it installed, is its kernel module loaded?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import kind, known, no_pci_expected
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown
from envkit.checks.engine.messages import told
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.gpu.gpus import reserved_for_vms
from envkit.checks.nvidia_driver.driver_state import CUDA, NVML, answered, has_library, loaded
from envkit.model import Environment
from envkit.model.observed import is_told

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ELSEWHERE = "the driver of this place lives on its host"
_MODULE_CAUSES = (
    "no-gpu-on-pci",
    "gpu-fallen-off-bus",
    "optimus-gpu-off",
    "gpu-bound-to-vfio",
    "nouveau-loaded",
    "nova-core-bound",
    "kernel-headers-missing",
    "dkms-build-failed",
    "module-missing-for-running-kernel",
    "secure-boot-unsigned-module",
    "driver-dropped-gpu",
    "open-module-on-pre-turing",
    "proprietary-module-on-blackwell",
    "vm-gpu-unsupported-by-release",
    "driver-not-installed",
    "libcuda-stub-loaded",
    "container-no-gpu-injected",
    "wsl-libcuda-missing",
    "wsl-driver-inside",
)


@check(
    "driver-not-installed",
    title="No NVIDIA driver is installed",
    layer=Layer.KERNEL_MODULE,
    rank=5,
    explained_by=("no-gpu-on-pci", "optimus-gpu-off", "gpu-bound-to-vfio", "container-no-gpu-injected", "wsl1"),
    fix="Install the driver branch that fits the GPU, from the distribution or from NVIDIA, not from both.",
    references=threads("NVIDIA/nvidia-docker#988", "tensorflow/tensorflow#66750"),
)
def driver_not_installed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Where there is a GPU, there is a driver: a kernel module or its libraries.

    Without any driver the CUDA runtime reports version 0 and complains that the driver is "insufficient" (error 35),
    which sounds like an old driver and is none.
    """
    if no_pci_expected(environment):
        yield skip(_ELSEWHERE, evidence=[known(environment, "system.machine_kind")])
    elif present := _signs_of_a_driver(environment):
        yield ok("a driver is installed", evidence=present)
    elif environment.pci_gpus.known and not environment.pci_gpus.get():
        yield skip("there is no GPU that would need a driver", evidence=[known(environment, "pci_gpus", "none")])
    elif _reserved(environment):
        yield skip("every GPU is reserved for virtual machines; this machine needs no driver for them")
    elif environment.pci_gpus.known and _looked_everywhere(environment):
        yield _absent(environment)
    else:
        told_so = told(
            environment,
            "driver-not-installed",
            "No NVIDIA driver is installed",
            remedy=_install(environment),
            impact="No program can use the GPU.",
        )
        yield from told_so or (unknown("not every place where a driver could be was looked at"),)


def _signs_of_a_driver(environment: Environment) -> list[Evidence]:
    driver, kernel = environment.driver, environment.kernel
    signs = []
    if driver.kernel_module.known:
        signs.append(known(environment, "driver.kernel_module"))
    if driver.user_space.known and not is_told(driver.user_space.source):
        signs.append(known(environment, "driver.user_space"))
    elif has_library(environment, CUDA) or has_library(environment, NVML):
        signs.append(known(environment, "driver.libraries", "libcuda, libnvidia-ml"))
    if kernel.module_files.known and kernel.module_files.get():
        signs.append(known(environment, "kernel.module_files", kernel.module_files.get()[0].path))
    return signs


def _reserved(environment: Environment) -> bool:
    return environment.pci_gpus.known and len(reserved_for_vms(environment)) == len(environment.pci_gpus.get())


def _looked_everywhere(environment: Environment) -> bool:
    module, files = environment.driver.kernel_module, environment.kernel.module_files
    return module.absent and (files.known or files.absent) and has_library(environment, CUDA) is False


def _absent(environment: Environment) -> Outcome:
    gpus = ", ".join(gpu.name or f"device 10de:{gpu.device_id}" for gpu in environment.pci_gpus.get())
    return fail(
        f"No NVIDIA driver is installed for {gpus}",
        evidence=[
            known(environment, "pci_gpus", gpus),
            known(environment, "driver.kernel_module"),
            known(environment, "kernel.module_files"),
            known(environment, "driver.libraries"),
        ],
        impact="No program can use the GPU; the CUDA runtime may call this 'driver version is insufficient'.",
        remedy=_install(environment),
    )


def _install(environment: Environment) -> Remedy:
    if on_windows(environment):
        return Remedy("Install NVIDIA's driver for Windows; it brings nvidia-smi.")
    return remedy(environment, "Install the driver, from the distribution or from NVIDIA, not from both.", "driver")


@check(
    "driver-module-not-loaded",
    title="The driver's kernel module is not loaded",
    layer=Layer.KERNEL_MODULE,
    rank=60,
    explained_by=_MODULE_CAUSES,
    fix="Find out why it is not loaded; a new installation of the driver is not the first thing to try.",
    references=threads("NVIDIA/nvidia-docker#988", "microsoft/WSL#7716", "junxnone/tio#206"),
)
def driver_module_not_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Where the driver's libraries are, its kernel module is loaded.

    "nvidia-smi has failed because it couldn't communicate with the driver" is this symptom; it has at least six
    causes, and each has a check of its own that stands before this one.
    """
    if no_pci_expected(environment):
        yield skip(f"{_ELSEWHERE}; its kernel module is not loaded here", evidence=[_place(environment)])
    elif loaded(environment):
        yield ok("the kernel module is loaded", evidence=[known(environment, "driver.kernel_module")])
    elif loaded(environment) is False and has_library(environment, NVML) is False:
        yield skip("no driver is installed whose module could be loaded")
    elif evidence := _proof(environment):
        yield _not_loaded(environment, evidence)
    else:
        outcomes = told(
            environment,
            "driver-module-not-loaded",
            "The driver's kernel module is not loaded",
            impact="nvidia-smi and CUDA cannot reach the GPU.",
            remedy=_load(environment),
        )
        yield from outcomes or (unknown("nothing here tells whether the kernel module is loaded"),)


def _place(environment: Environment) -> Evidence:
    place = kind(environment)
    return known(environment, "system.machine_kind", place.value if place else None)


def _proof(environment: Environment) -> list[Evidence]:
    evidence = list(answered(environment, "nvml", "DRIVER_NOT_LOADED")) if not _stub(environment) else []
    if loaded(environment) is False and has_library(environment, NVML):
        evidence += [known(environment, "driver.kernel_module"), known(environment, "driver.user_space")]
    if evidence and _blocked(environment):
        evidence.append(known(environment, "kernel.blacklisted"))
    return evidence


def _stub(environment: Environment) -> bool:
    libraries = environment.driver.libraries
    own = [library for library in libraries.get() if library.name.startswith(NVML)] if libraries.known else []
    return bool(own) and all(library.stub for library in own)


def _blocked(environment: Environment) -> bool:
    return environment.kernel.blacklisted.known and "nvidia" in environment.kernel.blacklisted.get()


def _not_loaded(environment: Environment, evidence: list[Evidence]) -> Outcome:
    files = environment.kernel.module_files
    nowhere = (files.known and not files.get()) or files.absent
    if _blocked(environment):
        title, fix = "The driver's kernel module is blocked by a blacklist", _unblock(environment)
    elif nowhere:
        title = "The driver's libraries are installed, its kernel module is not"
        fix = remedy(environment, "Install the kernel module of the same driver version, then restart.", "driver")
    else:
        title, fix = "The driver's kernel module is not loaded", _load(environment)
    return fail(title, evidence=evidence, impact="nvidia-smi and CUDA cannot reach the GPU.", remedy=fix)


def _load(environment: Environment) -> Remedy:
    return remedy(
        environment,
        "Load the module and read what the kernel says if it refuses. Do not reinstall the driver yet.",
        "load-module",
        "module-log",
    )


def _unblock(environment: Environment) -> Remedy:
    return remedy(
        environment,
        "Remove the line that blocks nvidia (after prime-select intel: choose another profile), rebuild the "
        "initramfs and restart.",
        "find-blacklist",
        "initramfs",
        "reboot",
    )
