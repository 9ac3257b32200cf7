"""Facts as evidence, and the questions about a place that many checks ask first."""

from __future__ import annotations

from enum import Enum

from envkit._startup.records import is_record
from envkit.base.kept import kept
from envkit.base.pci import pci_address
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import ONLY_TOLD, Evidence, Outcome, ok, skip, unknown
from envkit.model import Environment, MachineKind
from envkit.model.paths import fact

NO_OWN_DRIVER = (MachineKind.CONTAINER, MachineKind.WSL1, MachineKind.WSL2)
NO_PCI_GPU = (*NO_OWN_DRIVER, MachineKind.JETSON)
_MANAGED = {
    MachineKind.CONTAINER: "managed on the container's host",
    MachineKind.WSL1: "managed by Windows, the host of WSL",
    MachineKind.WSL2: "managed by Windows, the host of WSL",
    MachineKind.JETSON: "does not apply to a Jetson, whose GPU is not on PCI",
}

_KINDS = {
    MachineKind.METAL: "bare metal",
    MachineKind.VM: "virtual machine",
    MachineKind.WSL1: "WSL 1",
    MachineKind.WSL2: "WSL 2",
    MachineKind.JETSON: "Jetson",
}

_NAMES = {  # of facts whose path says little to a reader
    "containers.docker": "Docker engine",
    "containers.docker_client": "Docker client",
    "containers.container_toolkit": "NVIDIA Container Toolkit",
    "containers.cdi_specs": "CDI specification",
    "containers.cdi_missing_paths": "CDI specification",
    "containers.host_listed": "start of this container",
    "containers.toolkit_config": "NVIDIA Container Toolkit configuration",
    "containers.node_devices": "GPU counts on the Kubernetes node",
    "containers.podman": "Podman",
    "cuda_home": "directory of CUDA_HOME",
    "cuda_link": "/usr/local/cuda symlink",
    "cuda_toolkits": "CUDA toolkits",
    "cudnns": "cuDNN",
    "driver.cuda_init": "CUDA initialization result",
    "driver.driver_cuda_version": "newest CUDA version that the driver supports",
    "driver.device_nodes": "NVIDIA device files",
    "driver.fabric_manager": "Fabric Manager",
    "driver.kernel_module": "NVIDIA kernel module",
    "driver.libraries": "driver libraries",
    "driver.nvswitches": "NVSwitch devices",
    "driver.nvidia_smi": "nvidia-smi",
    "driver.nvml": "NVML",
    "driver.open_kernel_module": "open NVIDIA kernel module",
    "driver.params": "kernel module parameters",
    "driver.uninitialised_gpus": "GPUs that the driver could not initialize",
    "driver.user_space": "user-space driver",
    "gpus": "complete GPU list from the driver",
    "host_compilers": "host compilers",
    "kernel.acs_redirect": "PCIe ACS settings",
    "kernel.dkms": "DKMS",
    "kernel.headers": "kernel headers",
    "kernel.iommu": "IOMMU",
    "kernel.loaded_modules": "loaded kernel modules",
    "kernel.log": "kernel log",
    "kernel.module_files": "kernel module files",
    "managed_by": "software manager",
    "measurements": "measurements of --deep",
    "messages": "error messages",
    "nccl_config": "NCCL configuration",
    "network_interfaces": "network interfaces",
    "nvcc": "nvcc",
    "package_changes": "package change log",
    "packages": "system packages",
    "pci_gpus": "NVIDIA GPUs on the PCI bus",
    "pythons": "Python environments",
    "repositories": "package repositories",
    "system.display_server": "display server",
    "system.free_bytes": "free disk space",
    "system.glibc": "glibc",
    "system.infiniband_devices": "InfiniBand devices",
    "system.l4t_release": "L4T release",
    "system.machine_kind": "machine type",
    "system.meant_without_gpu": "the absence of a GPU",
    "system.memory_bytes": "amount of RAM",
    "system.os": "operating system",
    "system.prime_profile": "graphics switching profile",
    "system.memlock_bytes": "locked-memory limit",
    "system.secure_boot": "Secure Boot state",
    "system.selinux": "SELinux status",
    "system.processors": "processors",
    "system.usable_processors": "usable processors",
    "system.shm_bytes": "size of /dev/shm",
    "variables": "environment variables",
}


_WITHOUT_ARTICLE = ("DKMS", "Fabric Manager", "NVML", "Podman", "cuDNN", "glibc", "nvcc", "nvidia-smi")
NOT_SHOWN = "the input does not show "
SHOWS_NO = "the input shows no "
EXCERPTS = ("kernel.log",)  # of which a text quotes some lines: what is not among them may be in the others


def unseen(environment: Environment, what: str) -> str:
    """That nobody looked at `what`, as the reader has it: nothing is probed in a text."""
    if not environment.pasted:
        return f"envkit did not probe {what}"
    return f"{NOT_SHOWN}{what.replace('the ', 'the full ') if what in map(named_fact, EXCERPTS) else what}"


def named_fact(path: str) -> str:
    """The fact at `path` in a sentence: with its article."""
    words = in_words(path)
    return words if words in _WITHOUT_ARTICLE or words.startswith("the ") else f"the {words}"


def in_words(path: str) -> str:
    """What reports call the fact at `path`."""
    return _NAMES.get(path, path)


def known(environment: Environment, path: str, value: str | None = None) -> Evidence:
    """The fact at `path` as evidence: its value (or the shorter `value`), or why there is none, and its source."""
    observed = fact(environment, path)
    if value is None or (not value and observed.problem is not None):
        value = _words(observed.value) if observed.problem is None else observed.problem.value
    return Evidence(path, value, observed.source)


def passed(environment: Environment, step: str) -> bool:
    """True where a step of `--deep` that is called so was run and ended well."""
    measured = environment.measurements.get() if environment.measurements.known else ()
    return any(one.passed and one.name == step for one in measured)


def many(number: int, noun: str) -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def without_gpu(environment: Environment) -> bool:
    """True when PCI was looked at, GPUs would show there, and there is none: what asks about GPUs does not apply."""
    if not environment.pci_gpus.known or environment.pci_gpus.get() or no_pci_expected(environment):
        return False
    return not (environment.gpus.known and environment.gpus.get())


def not_looked(environment: Environment, title: str, *paths: str) -> Outcome:
    """Does not apply without a GPU, or where all `paths` are certainly absent; otherwise unknown."""
    if without_gpu(environment):
        return skip("there is no GPU", evidence=[known(environment, "pci_gpus", "none")])
    if paths and all(fact(environment, path).absent for path in paths):
        return skip(f"{in_words(paths[0])} not found", evidence=[known(environment, path) for path in paths])
    return unknown(title, evidence=[known(environment, path) for path in paths])


def only_told(environment: Environment) -> bool:
    """True where a pasted text describes packages: what lies in folders and files next to its list is not known."""
    return environment.pasted


def silent(environment: Environment, healthy: str, evidence: Evidence) -> Outcome:
    """Health where no message describes a fault that nothing else shows; a text that lacks it is no sign of health."""
    return skip(ONLY_TOLD, evidence=[evidence]) if only_told(environment) else ok(healthy, evidence=[evidence])


def kind(environment: Environment) -> MachineKind | None:
    """Where the environment is: metal, VM, container …; None when nobody could tell."""
    return environment.system.machine_kind.value if environment.system.machine_kind.known else None


def driver_lives_elsewhere(environment: Environment) -> bool:
    """True in a container or WSL: kernel module and device nodes belong to the host."""
    return kind(environment) in NO_OWN_DRIVER


def no_pci_expected(environment: Environment) -> bool:
    """True where an NVIDIA GPU does not show on PCI although it works: container, WSL, Jetson."""
    return kind(environment) in NO_PCI_GPU


def managed_elsewhere(environment: Environment) -> Outcome:
    """Does not apply here: in a container or WSL the host manages it, a Jetson has no GPU on PCI."""
    words = _MANAGED.get(environment.system.machine_kind.get(), "managed by the host")
    return skip(words, evidence=[known(environment, "system.machine_kind")])


@kept
def is_virtual(environment: Environment) -> bool:
    """True in a virtual machine, and in a container in one: PCI ports and IOMMU tell nothing about the hardware.

    The driver knows that a GPU was passed through, a card without a port above it has none but a virtual one, and
    kernels of clouds without machines of metal say so by their name.
    """
    if kind(environment) is MachineKind.VM:
        return True
    gpus, cards = environment.gpus.value or (), environment.pci_gpus.value or ()
    addresses = (*(gpu.pci_address for gpu in gpus), *(card.pci_address for card in cards))
    given = any(gpu.virtualization_mode in ("passthrough", "vgpu") for gpu in gpus)
    kernel = environment.system.kernel.value or ""
    of_cloud = kernel.endswith(("-azure", "-gcp", "-kvm"))
    return given or of_cloud or any(pci_address(address)[5:7] == "00" for address in addresses)


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, MachineKind):
        return _KINDS.get(value, value.value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (tuple, list)):
        return ", ".join(_words(item) for item in value) or "none"
    if is_record(type(value)) and not isinstance(value, (Version, ComputeCapability)):
        named = (getattr(value, field, None) for field in ("name", "module", "path", "version"))
        return " ".join(str(part) for part in named if part) or "present"
    return str(value)
