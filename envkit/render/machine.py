"""The machine in a few lines, the same in every report: what it is, driver, GPUs, CUDA, cuDNN, Python, containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envkit.base.sentences import series
from envkit.model import (
    Environment,
    FrameworkInstall,
    Gpu,
    MachineKind,
    Observed,
    OsRelease,
    PciGpu,
    Problem,
    PythonEnvironment,
)
from envkit.model.observed import TOLD
from envkit.tables.rows import framework_title, os_title

_AS_TOLD = "as stated in the input"
_KINDS = {
    MachineKind.METAL: "bare metal",
    MachineKind.VM: "VM",
    MachineKind.WSL1: "WSL 1",
    MachineKind.WSL2: "WSL 2",
    MachineKind.JETSON: "Jetson",
}
_REASONS = {
    Problem.ABSENT: "none",
    Problem.DENIED: "not readable by this user",
    Problem.UNPARSABLE: "not understood",
    Problem.TIMED_OUT: "did not answer in time",
    Problem.NOT_LOOKED: "not known",
}


def machine_lines(environment: Environment) -> list[tuple[str, str]]:
    """Label and text, one pair a line; several lines may share a label, then it is given once.

    What nobody looked for has no line; what was looked for and not found says why.
    """
    groups = [
        ("System", _system(environment)),
        ("Driver", _driver(environment)),
        ("GPU", _gpus(environment)),
        ("CUDA", _toolkits(environment)),
        ("cuDNN", _cudnns(environment)),
        ("Compiler", _compilers(environment)),
        ("Python", _pythons(environment)),
        ("Containers", _containers(environment)),
    ]
    lines = []
    for label, texts in groups:
        for number, text in enumerate(texts):
            lines.append((label if number == 0 else "", text))
    return lines or [("", "OS, GPU, and driver version unknown")]


def machine_line(environment: Environment) -> str:
    """The machine in one line: system, driver, GPUs, the Python in use and its frameworks, as far as they are known."""
    parts = [*_system_short(environment), *_driver_short(environment), *_gpus_short(environment)]
    pythons = environment.pythons.get() if environment.pythons.known else ()
    for python in [python for python in pythons if python.active] or pythons[:1]:
        parts += [f"Python {python.version.release(2)}"] if python.version else []
        parts += [_framework(framework) for framework in python.frameworks]
    return " · ".join(dict.fromkeys(parts)) or "The input does not mention an NVIDIA GPU, driver, or Python version."


def _system_short(environment: Environment) -> Iterator[str]:
    system = environment.system
    if system.os.known:
        yield _name(system.os.get())
    if system.machine_kind.known and system.machine_kind.get() is not MachineKind.METAL:
        yield _KINDS.get(system.machine_kind.get(), system.machine_kind.get().value)


def _name(release: OsRelease) -> str:
    """The system as people write it."""
    return release.pretty_name or ("Windows" if release.os_id == "windows" else os_title(release.os_id))


def _driver_short(environment: Environment) -> Iterator[str]:
    driver = environment.driver
    version = driver.kernel_module if driver.kernel_module.known else driver.user_space
    if version.known:
        yield f"driver {version.get()}"
    elif version.absent and not _jetson(environment) and not _in_wsl(environment):  # WSL has Windows' driver
        yield "no driver"


def _model(name: str) -> str:
    """nvidia-smi prints ERR! where a GPU does not answer."""
    return "unknown model" if name.strip() == "ERR!" else name


def _gpus_short(environment: Environment) -> Iterator[str]:
    """The models, each with how many of it there are."""
    gpus, pci = environment.gpus, environment.pci_gpus
    names = [_model(gpu.name) + _chips(gpu, environment) or gpu.error for gpu in gpus.get()] if gpus.known else []
    if not names and pci.known:
        names = [gpu.title for gpu in pci.get()]
    if not names and (pci.absent or pci.known) and not _jetson(environment) and not _in_wsl(environment):
        yield "no NVIDIA GPU on the PCI bus"
    for name in dict.fromkeys(filter(None, names)):  # a cut-off table may have a row without a name
        yield f"{names.count(name)} × {name}" if names.count(name) > 1 else name


def _chips(gpu: Gpu, environment: Environment) -> str:
    """What a model can be whose name several chips have, where nothing else says which of them it is."""
    from envkit.checks.gpu.gpus import could_be  # its table only where a name alone is known

    possible = could_be(gpu, environment) if gpu.compute_capability is None and gpu.name else ()
    return f" (compute capability {series(map(str, possible), 'or')})" if len(possible) > 1 else ""


def gpu_line(environment: Environment) -> str:
    """The models in one line, '' where none is known."""
    known = environment.gpus.value or environment.pci_gpus.value
    return ", ".join(_gpus_short(environment)) if known else ""


def _told(*observed: Observed[Any]) -> bool:
    """True when somebody looked: a pasted text tells a few facts, and the rest is not worth a line."""
    return any(item.problem is not Problem.NOT_LOOKED for item in observed)


def reason(observed: Observed[Any]) -> str:
    """Why a fact has no value, in words."""
    words = _REASONS[observed.problem or Problem.NOT_LOOKED]
    return f"{words} ({observed.detail})" if observed.detail and not observed.absent else words


def _system(environment: Environment) -> Iterator[str]:
    system = environment.system
    parts = []
    if system.os.known:
        parts.append(_name(system.os.get()))
    elif _told(system.os):
        parts.append("system " + reason(system.os))
    parts += [f"kernel {system.kernel.get()}"] if system.kernel.known else []
    parts += [f"glibc {system.glibc.get()}"] if system.glibc.known else []
    parts += [system.architecture.get()] if system.architecture.known else []
    if parts:
        yield " · ".join(parts)
    if system.machine_kind.known:
        kind = _KINDS.get(system.machine_kind.get(), system.machine_kind.get().value)
        yield f"{kind} ({system.vendor.get()})" if system.vendor.known else kind


def _driver(environment: Environment) -> Iterator[str]:
    driver = environment.driver
    if driver.kernel_module.known:
        flavor = ""
        if driver.open_kernel_module.known:
            flavor = ", open kernel module" if driver.open_kernel_module.get() else ", proprietary kernel module"
        yield f"{driver.kernel_module.get()} loaded{flavor}"
    elif _told(driver.kernel_module) and not _jetson(environment):
        yield f"kernel module: {reason(driver.kernel_module)}"
    cuda = f"; CUDA up to {driver.driver_cuda_version.get()}" if driver.driver_cuda_version.known else ""
    if _jetson(environment):
        release = environment.system.l4t_release
        yield f"part of the system{f', L4T {release.get()}' if release.known else ''}{cuda}"
    elif driver.user_space.known:
        yield f"libraries {driver.user_space.get()}{cuda}"
    elif _told(driver.user_space) and (not driver.user_space.absent or driver.kernel_module.known):
        yield f"libraries: {reason(driver.user_space)}{cuda}"


def _in_wsl(environment: Environment) -> bool:
    return environment.system.machine_kind.value in (MachineKind.WSL1, MachineKind.WSL2)


def _jetson(environment: Environment) -> bool:
    return environment.system.machine_kind.value is MachineKind.JETSON


def _gpus(environment: Environment) -> Iterator[str]:
    if environment.gpus.known and environment.gpus.get():
        yield from (_gpu(gpu) for gpu in environment.gpus.get())
    elif environment.pci_gpus.known and environment.pci_gpus.get():
        yield from (_pci_gpu(gpu) for gpu in environment.pci_gpus.get())
    elif _jetson(environment):
        count = environment.driver.cuda_device_count
        yield "part of the processor" + (f", CUDA finds {count.get()}" if count.known else "")
    elif _told(environment.gpus, environment.pci_gpus):
        known = environment.gpus if environment.pci_gpus.problem is Problem.NOT_LOOKED else environment.pci_gpus
        yield "none on the PCI bus" if known.known or known.absent else reason(known)


def _gpu(gpu: Gpu) -> str:
    parts = [f"{gpu.index}: {gpu.name or gpu.error}"]
    parts += [f"sm_{gpu.compute_capability.major}{gpu.compute_capability.minor}"] if gpu.compute_capability else []
    parts += [f"{gpu.memory_bytes / 2**30:.0f} GiB"] if gpu.memory_bytes else []
    if gpu.link_width_current and gpu.link_width_max and gpu.memory_bytes:  # what shares the processor's has no slot
        parts.append(f"PCIe x{gpu.link_width_current} of x{gpu.link_width_max}")
    parts += [gpu.pci_address] if gpu.pci_address else []
    return " · ".join(parts)


def _pci_gpu(gpu: PciGpu) -> str:
    parts = [gpu.title]
    parts += [gpu.compute_capability.sm] if gpu.compute_capability else []
    parts += [gpu.pci_address] if gpu.pci_address else []
    if gpu.driver is not None:
        parts.append(f"driver {gpu.driver}" if gpu.driver else "no driver bound")
    return " · ".join(parts)


def _toolkits(environment: Environment) -> Iterator[str]:
    toolkits = environment.cuda_toolkits
    if not toolkits.known:
        if _told(toolkits):
            yield f"toolkit: {reason(toolkits)}"
        return
    for toolkit in toolkits.get():
        origin = _AS_TOLD if toolkit.source == TOLD else toolkit.source
        yield f"{toolkit.version}  {toolkit.path}" + (f"  ({origin})" if origin else "")
    if not toolkits.get():
        yield "toolkit: none"


def _cudnns(environment: Environment) -> Iterator[str]:
    if not environment.cudnns.known:
        if _told(environment.cudnns):
            yield reason(environment.cudnns)
        return
    for cudnn in environment.cudnns.get():
        yield "  ".join(filter(None, (str(cudnn.version), cudnn.path, f"({cudnn.origin})")))
    if not environment.cudnns.get():
        yield "none"


def _compilers(environment: Environment) -> Iterator[str]:
    if environment.host_compilers.known and environment.host_compilers.get():
        yield ", ".join(f"{compiler.name} {compiler.version}" for compiler in environment.host_compilers.get())


def _pythons(environment: Environment) -> Iterator[str]:
    if not environment.pythons.known:
        if _told(environment.pythons):
            yield reason(environment.pythons)
        return
    for python in environment.pythons.get():
        version = str(python.version or "unknown version")
        place = python.prefix + (", on PATH" if python.active else "") if python.prefix else ""
        yield f"{version} ({place})" if place else version
        yield from _frameworks(python)
    if environment.pythons.detail:
        yield environment.pythons.detail


def _framework(framework: FrameworkInstall) -> str:
    return f"{framework_title(framework.name)} {framework.version}".rstrip()


def _frameworks(python: PythonEnvironment) -> Iterator[str]:
    for framework in python.frameworks:
        yield f"  {_framework(framework)} ({_built_for(framework)})"


def _built_for(framework: FrameworkInstall) -> str:
    if framework.rocm:
        return "built for ROCm"
    if framework.cuda is not None:
        cudnn = f", cuDNN {framework.cudnn}" if framework.cudnn else ""
        return f"built for CUDA {framework.cuda}{cudnn}"
    return "CPU only" if framework.cuda_known else "CUDA version of the build unknown"


def _containers(environment: Environment) -> Iterator[str]:
    containers = environment.containers
    if containers.docker.known:
        engine = containers.docker.get()
        runtime = "NVIDIA runtime" if "nvidia" in engine.runtimes else "no NVIDIA runtime"
        cdi = ", CDI specs" if containers.cdi_specs.known and containers.cdi_specs.get() else ""
        yield f"Docker {engine.version}, {runtime}{cdi}"
    elif containers.docker_client.known:
        yield f"Docker client {containers.docker_client.get()}, engine: {reason(containers.docker)}"
    elif _told(containers.docker):
        yield f"Docker: {reason(containers.docker)}"
    if containers.container_toolkit.known:
        yield f"NVIDIA container toolkit {containers.container_toolkit.get()}"
