"""What like machines are compared by: each trait is a word or a set of words that a machine's facts give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.model import Environment, Gpu, PciGpu, SystemPackage
from envkit.model.paths import fact

SEPARATOR = ", "  # between the members of a set
NONE = "none"
_NO_NAMES = ("ERR!", "Unknown Error")  # what nvidia-smi writes in place of the model of a GPU that does not answer
_GIB = 1 << 30
_INDEX = regex(r"\[[^\[\]]{0,200}\]")  # which of several: `gpus[0].error`


@record
class Trait:
    """One trait: its key, the fact that tells it, and how; what a check may have failed on that explains it."""

    key: str
    path: str
    tell: Callable[[Any], Iterable[object] | None]
    absent: bool = True  # that there is none is a value, too
    rests: tuple[str, ...] = ()  # evidence that explains a difference, where the fact as a whole says too little


def _one(value: object) -> Iterator[object]:
    yield value


def _each_gpu(read: Callable[[Gpu], object]) -> Callable[[tuple[Gpu, ...]], list[object]]:
    def tell(gpus: tuple[Gpu, ...]) -> list[object]:
        return [value for gpu in gpus if not gpu.error and (value := read(gpu)) is not None]

    return tell


def _memory(size: int) -> Iterator[str]:
    """Rounded up to what is built in: the kernel takes a part, and not always the same."""
    step = next((step for limit, step in ((32, 1), (256, 4)) if size <= limit * _GIB), 16)
    yield f"{-(-size // (step * _GIB)) * step} GiB"


def _frameworks(pythons: tuple[Any, ...]) -> Iterator[str]:
    for python in pythons:
        for framework in python.frameworks:
            cuda = f" (CUDA {framework.cuda})" if framework.cuda else ""
            yield f"{framework.name} {framework.version}{cuda}"


def _width(gpus: tuple[PciGpu, ...]) -> Iterator[str]:
    yield from (f"x{gpu.link.width_current}" for gpu in gpus if gpu.link and gpu.link.width_current)


def _numa(gpus: tuple[PciGpu, ...]) -> Iterator[int]:
    yield from (gpu.numa_node for gpu in gpus if gpu.numa_node is not None)


def _held(packages: tuple[SystemPackage, ...]) -> list[str] | None:
    """Not known of rpm's packages: locks are kept elsewhere."""
    held = [package.name for package in packages if package.state == "hold"]
    return held if held or all(package.manager == "dpkg" for package in packages) else None


def _generation(gpu: Gpu) -> str | None:
    return None if gpu.link_generation_max is None else f"Gen{gpu.link_generation_max}"


def _watts(gpu: Gpu) -> str | None:
    return None if gpu.power_limit_w is None else f"{gpu.power_limit_w:g} W"


def _of_gpus(key: str, name: str, read: Callable[[Gpu], object], *others: str) -> Trait:
    """A trait that one field of each GPU tells: a check that failed on another field explains nothing here."""
    return Trait(key, "gpus", _each_gpu(read), absent=False, rests=tuple(f"gpus.{field}" for field in (name, *others)))


COUNT = "gpu_count"
_BUILD = ("", ".version", ".cuda")  # what a framework's trait is made of
TRAITS = (
    Trait("os", "system.os", lambda os: _one(os.os_id)),
    Trait("kernel", "system.kernel", _one),
    Trait("architecture", "system.architecture", _one),
    Trait("glibc", "system.glibc", _one),
    Trait("processors", "system.processors", _one),
    Trait("memory", "system.memory_bytes", _memory),
    Trait("vendor", "system.vendor", _one),
    Trait("secure_boot", "system.secure_boot", _one),
    Trait("iommu", "kernel.iommu", _one),
    Trait("acs", "kernel.acs_redirect", lambda bridges: _one("redirects" if bridges else "off")),
    Trait(COUNT, "pci_gpus", lambda gpus: _one(len(gpus)), rests=("pci_gpus", "gpus", "gpus.error")),
    Trait("pcie_width", "pci_gpus", _width, absent=False, rests=("pci_gpus.link",)),
    Trait("numa_nodes", "pci_gpus", _numa, absent=False, rests=("pci_gpus.numa_node",)),
    _of_gpus("pcie_generation", "link_generation_max", _generation),
    Trait("driver", "driver.kernel_module", _one),
    Trait("driver_libraries", "driver.user_space", _one),
    Trait("open_kernel_module", "driver.open_kernel_module", _one, absent=False),
    _of_gpus("vbios", "vbios", lambda gpu: gpu.vbios),
    _of_gpus("persistence", "persistence_mode", lambda gpu: gpu.persistence_mode),
    _of_gpus("ecc", "ecc_mode", lambda gpu: gpu.ecc_mode),
    _of_gpus("mig", "mig_mode", lambda gpu: gpu.mig_mode, "mig_instances"),
    _of_gpus("compute_mode", "compute_mode", lambda gpu: gpu.compute_mode),
    _of_gpus("power_limit", "power_limit_w", _watts),
    Trait("held_packages", "packages", _held, rests=("packages.state",)),
    Trait("fabric_manager", "driver.fabric_manager_version", _one),
    Trait("fabric_manager_state", "driver.fabric_manager", _one),
    Trait("cuda_toolkits", "cuda_toolkits", lambda found: [toolkit.version for toolkit in found]),
    Trait("cuda_link", "cuda_link", lambda link: _one(link.target)),
    Trait("nvcc", "nvcc", lambda nvcc: None if nvcc.version is None else _one(nvcc.version)),
    Trait("cudnn", "cudnns", lambda found: [cudnn.version for cudnn in found]),
    Trait(
        "pythons",
        "pythons",
        lambda found: [python.version for python in found if python.version],
        rests=("pythons", "pythons.version"),
    ),
    Trait("frameworks", "pythons", _frameworks, rests=("pythons", *(f"pythons.frameworks{n}" for n in _BUILD))),
    Trait("docker", "containers.docker", lambda engine: None if engine.version is None else _one(engine.version)),
    Trait(
        "docker_runtime", "containers.docker", lambda engine: _one(engine.default_runtime) if engine.version else None
    ),
    Trait("container_toolkit", "containers.container_toolkit", _one),
    Trait("infiniband", "system.infiniband_devices", lambda devices: _one(len(devices))),
)
GPU = "gpu"  # the models in a machine, each once: what makes two machines alike
GROUP = "group"  # the groups of the inventory that a machine is in, which no fact tells
COMPARED = (GPU, *(trait.key for trait in TRAITS))
KEYS = (*COMPARED, GROUP)


_LABELS = {
    "acs": "ACS",
    "cuda_link": "/usr/local/cuda symlink",
    "cuda_toolkits": "CUDA toolkits",
    "cudnn": "cuDNN",
    "container_toolkit": "NVIDIA Container Toolkit",
    "docker": "Docker",
    "docker_runtime": "Docker runtime",
    "ecc": "ECC",
    "fabric_manager": "Fabric Manager version",
    "fabric_manager_state": "Fabric Manager",
    "gpu": "GPU",
    "gpu_count": "number of GPUs",
    "infiniband": "InfiniBand devices",
    "iommu": "IOMMU",
    "mig": "MIG",
    "numa_nodes": "NUMA nodes",
    "os": "operating system",
    "pcie_generation": "PCIe generation",
    "pcie_width": "PCIe lanes",
    "pythons": "Python versions",
    "secure_boot": "Secure Boot",
    "vbios": "VBIOS",
}


def trait_label(key: str) -> str:
    """What reports call a trait; its key is for files and options."""
    return _LABELS.get(key) or key.replace("_", " ")


def traits_of(environment: Environment) -> dict[str, str]:
    """The traits of a machine that are known."""
    told = {trait.key: _told(trait, environment) for trait in TRAITS}
    told |= {GPU: _models(environment), COUNT: _answering(environment) or told[COUNT]}
    return {key: value for key, value in told.items() if value is not None}


def explanations(environment_facts: Mapping[str, str]) -> dict[str, str]:
    """The traits that failing checks explain, from the fact of each piece of evidence to the id of its check."""
    by_path = {_INDEX.sub("", path): id for path, id in environment_facts.items()}
    found = ((trait.key, by_path.get(path)) for trait in TRAITS for path in (trait.rests or (trait.path,))[::-1])
    return {key: id for key, id in found if id}


def _answering(environment: Environment) -> str | None:
    """How many GPUs the driver answers for, where it answers: one that it lost may still be on the bus."""
    gpus = environment.gpus
    return str(sum(not gpu.error for gpu in gpus.get())) if gpus.known else None


def _told(trait: Trait, environment: Environment) -> str | None:
    observed = fact(environment, trait.path)
    if observed.absent:
        return NONE if trait.absent else None
    if not observed.known:
        return None
    values = trait.tell(observed.get())
    in_part = environment.pasted  # what a text does not mention may be there
    return None if values is None else _set_of(values, trait.absent and not in_part)


def _set_of(values: Iterable[object], absent: bool) -> str | None:
    words = {str(value).lower() if isinstance(value, bool) else str(value) for value in values}
    return SEPARATOR.join(sorted(words)) or (NONE if absent else None)


def without_maker(name: str) -> str:
    """A model's name in the one form that traits have: the driver writes `NVIDIA` before some."""
    return name.removeprefix("NVIDIA ")


def _models(environment: Environment) -> str | None:
    """By their ids on the bus, which a broken driver does not hide; otherwise as the driver calls them."""
    pci, gpus = environment.pci_gpus, environment.gpus
    if pci.known:
        return _set_of((without_maker(gpu.title) for gpu in pci.get()), absent=True)
    if gpus.known:
        names = (without_maker(gpu.name) for gpu in gpus.get() if not gpu.error)
        return _set_of((name for name in names if name not in _NO_NAMES), absent=False)
    return NONE if pci.absent else None
