"""The GPUs, their links, and the driver on both of its sides."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.base.versions import ComputeCapability, Version
from envkit.model.observed import Observed, unseen
from envkit.model.privacy import FilePath, FreeText, Identifier, Name, Plain


@record
class PcieLink:
    """One link as one device reports it: rates in GT/s, widths in lanes; None where the device does not say."""

    pci_address: Plain
    name: Plain = ""
    speed_current: float | None = None
    speed_max: float | None = None
    width_current: int | None = None
    width_max: int | None = None
    slot: Plain = ""


@record
class PciGpu:
    """An NVIDIA display function on PCI, seen without any driver. `hops` go from the GPU's port up to the root."""

    pci_address: Plain  # 0000:65:00.0
    device_id: Plain  # four hex digits, upper case: 20B5
    pci_class: Plain = ""  # 0300 VGA, 0302 3D
    subsystem_id: Plain = ""
    driver: Plain | None = ""  # bound driver, '' when none is, None when that is not known (plain lspci)
    link: PcieLink | None = None
    hops: tuple[PcieLink, ...] = ()
    numa_node: int | None = None
    power_state: Plain = ""  # D0, D3cold …
    config_readable: bool | None = None  # False when config space reads ffff
    bars_assigned: bool | None = None
    bar1_bytes: int | None = None
    aer_errors: Mapping[Plain, int] = field(default_factory=dict)  # correctable, fatal, nonfatal
    name: Plain = ""  # from the device-id table
    compute_capability: ComputeCapability | None = None  # from the device-id table
    bar1_resizable: bool | None = None

    @property
    def title(self) -> str:
        """Its name, else its PCI ID, for people."""
        known = f"NVIDIA device 10de:{self.device_id}" if self.device_id else "NVIDIA GPU of an unknown model"
        return self.name or known


@record
class DeviceNode:
    """One device file of the driver: mode bits in octal text, and whether this user can open it."""

    path: FilePath
    mode: Plain
    owner: Name
    group: Name
    accessible: bool | None = None
    device: Plain = ""  # major:minor of the node
    open_error: Plain = ""  # errno name when opening it failed (EPERM: a device cgroup says no)


@record
class DriverLibrary:
    """A user-space library of the driver found on disk: `version` from its file name, `stub` for link-time stubs."""

    name: Plain  # libcuda.so.1, libnvidia-ml.so.1, libnvidia-ptxjitcompiler.so.1
    path: FilePath
    version: Version | None
    stub: bool = False
    compat: bool = False  # from a cuda-compat folder
    in_ld_cache: bool | None = None
    mounted: bool | None = None  # inside a container: mounted from the host, not part of the image


@record
class CallResult:
    """What a vendor library's first call answered: `code` 0 is success; `call` is the function that failed."""

    code: int
    name: Plain
    call: Plain = ""
    text: FreeText = ""


@record
class Driver:
    """The NVIDIA driver: kernel side and user side are separate facts because they can disagree."""

    kernel_module: Observed[Version] = field(default_factory=unseen)  # loaded version
    open_kernel_module: Observed[bool] = field(default_factory=unseen)
    user_space: Observed[Version] = field(default_factory=unseen)  # version of libcuda / libnvidia-ml files
    libraries: Observed[tuple[DriverLibrary, ...]] = field(default_factory=unseen)
    driver_cuda_version: Observed[Version] = field(default_factory=unseen)  # highest CUDA it supports
    nvml: Observed[CallResult] = field(default_factory=unseen)
    nvidia_smi: Observed[CallResult] = field(default_factory=unseen)  # exit status and last words
    cuda_init: Observed[CallResult] = field(default_factory=unseen)  # cuInit without CUDA_VISIBLE_DEVICES
    cuda_device_count: Observed[int] = field(default_factory=unseen)  # without CUDA_VISIBLE_DEVICES
    cuda_visible_count: Observed[int] = field(default_factory=unseen)  # with it
    device_nodes: Observed[tuple[DeviceNode, ...]] = field(default_factory=unseen)
    params: Observed[Mapping[Plain, FreeText]] = field(default_factory=unseen)  # /proc/driver/nvidia/params
    procfs_gpus: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # PCI addresses the module owns
    excluded_gpus: Observed[tuple[Plain, ...]] = field(default_factory=unseen)
    runfile_installed: Observed[Version] = field(default_factory=unseen)  # nvidia-uninstall / installer log
    persistence_daemon: Observed[bool] = field(default_factory=unseen)
    fabric_manager: Observed[Plain] = field(default_factory=unseen)  # running, failed, installed
    fabric_manager_version: Observed[Version] = field(default_factory=unseen)
    nvswitches: Observed[int] = field(default_factory=unseen)
    peermem_loaded: Observed[bool] = field(default_factory=unseen)
    suspended_memory_kept: Observed[bool] = field(default_factory=unseen)  # NVreg_PreserveVideoMemoryAllocations
    device_majors: Observed[Mapping[Plain, int]] = field(default_factory=unseen)  # nvidia lines of /proc/devices
    uninitialised_gpus: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # addresses: no UUID, no BIOS
    modprobe_setuid: Observed[bool] = field(default_factory=unseen)  # nvidia-modprobe may create the nodes


@record
class Gpu:
    """One GPU as NVML describes it; None where NVML says not supported or was not queried."""

    index: int
    name: Plain
    pci_address: Plain = ""
    gpu_uuid: Identifier = ""
    vbios: Plain | None = None  # version of the firmware on the board
    compute_capability: ComputeCapability | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None  # by programs, where memory_reserved_bytes is known
    memory_reserved_bytes: int | None = None  # by driver and firmware
    link_generation_current: int | None = None
    link_generation_max: int | None = None  # possible with this GPU in this system
    link_generation_device_max: int | None = None  # of the GPU alone
    link_width_current: int | None = None
    link_width_max: int | None = None
    pcie_replays: int | None = None
    utilization_percent: int | None = None
    temperature_c: int | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    persistence_mode: bool | None = None
    compute_mode: Plain | None = None  # default, exclusive-process, prohibited
    mig_mode: bool | None = None
    mig_instances: tuple[Identifier, ...] | None = None
    ecc_mode: bool | None = None
    ecc_uncorrectable: int | None = None  # volatile count
    retired_pages_pending: bool | None = None
    remapped_rows_pending: bool | None = None
    remapped_rows_failed: bool | None = None
    throttle_reasons: int | None = None  # NVML clock event bits
    nvlinks_active: int | None = None
    nvlinks_total: int | None = None
    fabric_state: Plain | None = None
    processes: tuple[int, ...] | None = None  # pids that hold memory
    lost_processes: tuple[int, ...] | None = None  # pids that no longer exist
    display_active: bool | None = None
    virtualization_mode: Plain | None = None
    licensed: bool | None = None  # vGPU
    error: Plain = ""  # NVML error name when this device could not be read
    failed: Mapping[Plain, FreeText] = field(default_factory=dict)  # questions that NVML refused, with its error names
