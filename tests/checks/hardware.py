"""GPUs, links and drivers for the checks of driver, hardware and multi-GPU, built from a few words each."""

from __future__ import annotations

from dataclasses import replace

from envkit.base.versions import ComputeCapability
from envkit.model import (
    CallResult,
    DeviceNode,
    DkmsEntry,
    DriverLibrary,
    Gpu,
    ModuleFile,
    PcieLink,
    PciGpu,
    Problem,
    missing,
)
from tests.checks.software import v

KERNEL = "6.8.0-52-generic"
DRIVER = "550.120"
IDS = {  # model -> device id, compute capability, lanes, GT/s
    "NVIDIA GeForce RTX 3090": ("2204", "8.6", 16, 16.0),
    "NVIDIA GeForce RTX 4060": ("2882", "8.9", 8, 16.0),
    "NVIDIA GeForce RTX 4090": ("2684", "8.9", 16, 16.0),
    "NVIDIA GeForce RTX 5090": ("2B85", "12.0", 16, 32.0),
    "NVIDIA GeForce GTX 1080": ("1B80", "6.1", 16, 8.0),
    "NVIDIA A40": ("2235", "8.6", 16, 16.0),
    "NVIDIA H100 80GB HBM3": ("2330", "9.0", 16, 32.0),
    "Tesla K80": ("102D", "3.7", 16, 8.0),
}
RTX3090, RTX4060, RTX4090, RTX5090, GTX1080, A40, H100, K80 = IDS
ADDRESS = "0000:01:00.0"


def link(
    address: str = ADDRESS, lanes: int = 16, most: int | None = 16, speed: float = 2.5, fastest: float = 16.0
) -> PcieLink:
    return PcieLink(address, "", speed, fastest, lanes, most)


def card(
    model: str = RTX3090, address: str = ADDRESS, lanes: int | None = None, port: PcieLink | None = None, **more: object
) -> PciGpu:
    """A card on PCI, healthy unless `more` says otherwise, under a port of sixteen lanes unless one is given."""
    device, capability, width, fastest = IDS[model]
    now = width if lanes is None else lanes
    own = link(address, now, width, fastest=fastest)
    above = port or link("0000:00:01.1", now, 16, fastest=fastest)
    values: dict[str, object] = {
        "pci_class": "0300",
        "driver": "nvidia",
        "link": own,
        "hops": (above,),
        "power_state": "D0",
        "config_readable": True,
        "bars_assigned": True,
        "bar1_bytes": 32 * 1024**3,
        "name": model,
        "compute_capability": ComputeCapability.parse(capability),
        **more,
    }
    return PciGpu(address, device, **values)  # type: ignore[arg-type]


def gpu(model: str = RTX3090, address: str = ADDRESS, index: int = 0, **more: object) -> Gpu:
    """The same card as NVML lists it."""
    return Gpu(index, model, address, compute_capability=ComputeCapability.parse(IDS[model][1]), **more)  # type: ignore[arg-type]


def driver(version: str = DRIVER, cards: int = 1, open_module: bool = False) -> dict[str, object]:
    """Facts of a driver that is installed, loaded and answers."""
    return {
        "system.kernel": KERNEL,
        "driver.kernel_module": v(version),
        "driver.open_kernel_module": open_module,
        "driver.user_space": v(version),
        "driver.libraries": libraries(version),
        "driver.nvml": CallResult(0, "NVML_SUCCESS", "nvmlInit"),
        "driver.cuda_init": CallResult(0, "CUDA_SUCCESS", "cuInit"),
        "driver.device_nodes": nodes(cards),
        "kernel.loaded_modules": ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"),
        "kernel.module_files": (module(version, open_module=open_module),),
    }


def unloaded(version: str = DRIVER) -> dict[str, object]:
    """Facts of a driver whose libraries are there and whose module is not loaded."""
    return {
        "system.kernel": KERNEL,
        "driver.kernel_module": missing(Problem.ABSENT, "/proc/driver/nvidia/version"),
        "driver.user_space": v(version),
        "driver.libraries": libraries(version),
        "driver.nvml": CallResult(9, "NVML_ERROR_DRIVER_NOT_LOADED", "nvmlInit"),
        "kernel.loaded_modules": ("snd",),
    }


def libraries(*versions: str) -> tuple[DriverLibrary, ...]:
    folder = "/usr/lib/x86_64-linux-gnu"
    return tuple(
        DriverLibrary(f"{stem}.so.1", f"{folder}/{stem}.so.{version}", v(version))
        for version in versions
        for stem in ("libcuda", "libnvidia-ml")
    )


def module(
    version: str = DRIVER, kernel: str = KERNEL, open_module: bool = False, signed: bool | None = True
) -> ModuleFile:
    return ModuleFile(kernel, f"/lib/modules/{kernel}/updates/dkms/nvidia.ko", v(version), open_module, signed)


def dkms(kernel: str = KERNEL, state: str = "installed", version: str = DRIVER) -> DkmsEntry:
    return DkmsEntry("nvidia", version, kernel, state)


def nodes(cards: int = 1, *, uvm: bool = True, control: bool = True, accessible: bool = True) -> tuple[DeviceNode, ...]:
    paths = [f"/dev/nvidia{index}" for index in range(cards)]
    paths += ["/dev/nvidiactl"] * control + ["/dev/nvidia-uvm"] * uvm
    return tuple(DeviceNode(path, "0666" if accessible else "0660", "root", "video", accessible) for path in paths)


def failed(code: int, name: str) -> CallResult:
    return CallResult(code, f"NVML_ERROR_{name}", "nvmlInit", name.replace("_", " ").lower())


def cuda(code: int, name: str) -> CallResult:
    return CallResult(code, f"CUDA_ERROR_{name}", "cuInit")


def at(item: Gpu, **more: object) -> Gpu:
    """The same GPU with other values."""
    return replace(item, **more)  # type: ignore[arg-type]
