"""What was observed about a machine, as plain data: every fact is a value with its source, or the reason there is none.

Nothing here reads a machine. A fact that nobody looked for is `Problem.NOT_LOOKED`; zero, empty and None are never
used to say "unknown". Sources that may disagree (kernel module and library version) are separate facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Generic, TypeVar

from envkit.records import record
from envkit.versions import ComputeCapability, Version

T = TypeVar("T")


class Problem(str, Enum):
    """Why a fact has no value."""

    ABSENT = "absent"  # looked, and it is not there
    DENIED = "denied"  # the machine refused to tell
    UNPARSABLE = "unparsable"  # there, but not in a form that we can read
    TIMED_OUT = "timed-out"  # did not answer within its limit
    NOT_LOOKED = "not-looked"  # this source of facts does not tell (a pasted text, a mounted image)


@record
class Observed(Generic[T]):
    """A value and where it was read, or the problem that stands in its place."""

    value: T | None = None
    source: str = ""
    problem: Problem | None = Problem.NOT_LOOKED
    detail: str = ""

    @property
    def known(self) -> bool:
        """True when there is a value."""
        return self.problem is None

    def get(self) -> T:
        """The value of a fact that is known. Raises LookupError for one that is not."""
        if self.problem is not None or self.value is None:
            raise LookupError(f"no value: {self.problem}")
        return self.value

    @property
    def absent(self) -> bool:
        """True when somebody looked and it is not there."""
        return self.problem is Problem.ABSENT


def found(value: T, source: str) -> Observed[T]:
    """The fact that `source` holds `value`."""
    return Observed(value, source, None)


def missing(problem: Problem, source: str = "", detail: str = "") -> Observed[T]:
    """The fact that `source` gave no value, and why."""
    return Observed(None, source, problem, detail)


def unseen() -> Observed[T]:
    """A fact that nobody has looked for."""
    return Observed()


class MachineKind(str, Enum):
    """Where the program runs; it changes what every other fact means."""

    METAL = "metal"
    VM = "vm"
    CONTAINER = "container"
    WSL1 = "wsl1"
    WSL2 = "wsl2"
    JETSON = "jetson"


@record
class OsRelease:
    """The distribution: `os_id` is the key of our OS table (`ubuntu22.04`, `rockylinux9`, `debian12`)."""

    os_id: str
    id: str
    version_id: str
    pretty_name: str = ""
    id_like: tuple[str, ...] = ()


@record
class System:
    """The machine below the driver."""

    os: Observed[OsRelease] = field(default_factory=unseen)
    architecture: Observed[str] = field(default_factory=unseen)  # x86_64, aarch64
    kernel: Observed[str] = field(default_factory=unseen)  # uname -r
    glibc: Observed[Version] = field(default_factory=unseen)
    glibcxx: Observed[Version] = field(default_factory=unseen)  # highest GLIBCXX of libstdc++.so.6
    machine_kind: Observed[MachineKind] = field(default_factory=unseen)
    vendor: Observed[str] = field(default_factory=unseen)  # DMI vendor and product, hypervisor or container engine
    user_id: Observed[int] = field(default_factory=unseen)
    groups: Observed[tuple[str, ...]] = field(default_factory=unseen)
    secure_boot: Observed[bool] = field(default_factory=unseen)
    selinux: Observed[str] = field(default_factory=unseen)  # enforcing, permissive, disabled
    processors: Observed[int] = field(default_factory=unseen)
    memory_bytes: Observed[int] = field(default_factory=unseen)
    memlock_bytes: Observed[int] = field(default_factory=unseen)  # soft limit; -1 is unlimited
    shm_bytes: Observed[int] = field(default_factory=unseen)  # size of /dev/shm
    free_bytes: Observed[Mapping[str, int]] = field(default_factory=unseen)  # by mount point or path
    tmp_noexec: Observed[bool] = field(default_factory=unseen)
    last_resume: Observed[str] = field(default_factory=unseen)  # the machine slept since boot: when
    display_server: Observed[str] = field(default_factory=unseen)  # Xorg, Xwayland …, when one runs
    platform_model: Observed[str] = field(default_factory=unseen)  # /proc/device-tree/model (Jetson)
    l4t_release: Observed[Version] = field(default_factory=unseen)
    lockdown: Observed[str] = field(default_factory=unseen)  # none, integrity, confidentiality
    prime_profile: Observed[str] = field(default_factory=unseen)  # /etc/prime-discrete: on, off, on-demand
    infiniband_devices: Observed[tuple[str, ...]] = field(default_factory=unseen)


@record
class ModuleFile:
    """One nvidia kernel module file on disk and the kernel that it belongs to."""

    kernel: str
    path: str
    version: Version | None = None
    open_kernel_module: bool | None = None
    signed: bool | None = None


@record
class DkmsEntry:
    """One line of `dkms status`: module, its version, kernel ('' when only added) and state."""

    module: str
    version: str
    kernel: str
    state: str  # added, built, installed, broken


@record
class Kernel:
    """The running kernel and its modules."""

    cmdline: Observed[str] = field(default_factory=unseen)
    loaded_modules: Observed[tuple[str, ...]] = field(default_factory=unseen)  # names, '_' spelling
    module_files: Observed[tuple[ModuleFile, ...]] = field(default_factory=unseen)
    headers: Observed[str] = field(default_factory=unseen)  # path of /lib/modules/<kernel>/build when it resolves
    blacklisted: Observed[tuple[str, ...]] = field(default_factory=unseen)  # module names
    modprobe_options: Observed[Mapping[str, str]] = field(default_factory=unseen)  # module -> options
    dkms: Observed[tuple[DkmsEntry, ...]] = field(default_factory=unseen)
    dkms_make_log: Observed[str] = field(default_factory=unseen)  # tail of the newest failed make.log
    log: Observed[tuple[str, ...]] = field(default_factory=unseen)  # lines on NVRM, Xid, AER, PCI, nouveau
    iommu: Observed[str] = field(default_factory=unseen)  # off, passthrough, translated
    acs_redirect: Observed[tuple[str, ...]] = field(default_factory=unseen)  # bridges above GPUs that redirect
    compiler: Observed[Version] = field(default_factory=unseen)  # the gcc that built the running kernel


@record
class PcieLink:
    """One link as one device reports it: rates in GT/s, widths in lanes; None where the device does not say."""

    pci_address: str
    name: str = ""
    speed_current: float | None = None
    speed_max: float | None = None
    width_current: int | None = None
    width_max: int | None = None
    slot: str = ""


@record
class PciGpu:
    """An NVIDIA display function on PCI, seen without any driver. `hops` go from the GPU's port up to the root."""

    pci_address: str  # 0000:65:00.0
    device_id: str  # four hex digits, upper case: 20B5
    pci_class: str = ""  # 0300 VGA, 0302 3D
    subsystem_id: str = ""
    driver: str = ""  # bound driver, '' when none
    link: PcieLink | None = None
    hops: tuple[PcieLink, ...] = ()
    numa_node: int | None = None
    power_state: str = ""  # D0, D3cold …
    config_readable: bool | None = None  # False when config space reads ffff
    bars_assigned: bool | None = None
    bar1_bytes: int | None = None
    aer_errors: Mapping[str, int] = field(default_factory=dict)  # correctable, fatal, nonfatal
    name: str = ""  # from the device-id table
    compute_capability: ComputeCapability | None = None  # from the device-id table
    bar1_resizable: bool | None = None


@record
class DeviceNode:
    """One device file of the driver: mode bits in octal text, and whether this user can open it."""

    path: str
    mode: str
    owner: str
    group: str
    accessible: bool | None = None
    device: str = ""  # major:minor of the node
    open_error: str = ""  # errno name when opening it failed (EPERM: a device cgroup says no)


@record
class DriverLibrary:
    """A user-space library of the driver found on disk: `version` from its file name, `stub` for link-time stubs."""

    name: str  # libcuda.so.1, libnvidia-ml.so.1, libnvidia-ptxjitcompiler.so.1
    path: str
    version: Version | None
    stub: bool = False
    compat: bool = False  # from a cuda-compat folder
    in_ld_cache: bool | None = None
    mounted: bool | None = None  # inside a container: mounted from the host, not part of the image


@record
class CallResult:
    """What a vendor library's first call answered: `code` 0 is success; `call` is the function that failed."""

    code: int
    name: str
    call: str = ""
    text: str = ""


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
    params: Observed[Mapping[str, str]] = field(default_factory=unseen)  # /proc/driver/nvidia/params
    procfs_gpus: Observed[tuple[str, ...]] = field(default_factory=unseen)  # PCI addresses the module owns
    excluded_gpus: Observed[tuple[str, ...]] = field(default_factory=unseen)
    runfile_installed: Observed[Version] = field(default_factory=unseen)  # nvidia-uninstall / installer log
    persistence_daemon: Observed[bool] = field(default_factory=unseen)
    fabric_manager: Observed[str] = field(default_factory=unseen)  # running, failed, installed
    fabric_manager_version: Observed[Version] = field(default_factory=unseen)
    nvswitches: Observed[int] = field(default_factory=unseen)
    peermem_loaded: Observed[bool] = field(default_factory=unseen)
    suspended_memory_kept: Observed[bool] = field(default_factory=unseen)  # NVreg_PreserveVideoMemoryAllocations
    device_majors: Observed[Mapping[str, int]] = field(default_factory=unseen)  # nvidia lines of /proc/devices
    uninitialised_gpus: Observed[tuple[str, ...]] = field(default_factory=unseen)  # PCI addresses without UUID or BIOS
    modprobe_setuid: Observed[bool] = field(default_factory=unseen)  # nvidia-modprobe may create the nodes


@record
class Gpu:
    """One GPU as NVML describes it; None where NVML says not supported or was not asked."""

    index: int
    name: str
    pci_address: str = ""
    gpu_uuid: str = ""
    compute_capability: ComputeCapability | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
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
    compute_mode: str | None = None  # default, exclusive-process, prohibited
    mig_mode: bool | None = None
    mig_instances: tuple[str, ...] | None = None
    ecc_mode: bool | None = None
    ecc_uncorrectable: int | None = None  # volatile count
    retired_pages_pending: bool | None = None
    remapped_rows_pending: bool | None = None
    remapped_rows_failed: bool | None = None
    throttle_reasons: int | None = None  # NVML clock event bits
    nvlinks_active: int | None = None
    nvlinks_total: int | None = None
    fabric_state: str | None = None
    processes: tuple[int, ...] | None = None  # pids that hold memory
    lost_processes: tuple[int, ...] | None = None  # pids that no longer exist
    display_active: bool | None = None
    virtualization_mode: str | None = None
    licensed: bool | None = None  # vGPU
    error: str = ""  # NVML error name when this device could not be read


@record
class CudaToolkit:
    """A CUDA toolkit on disk."""

    version: Version
    path: str
    real_path: str = ""
    source: str = ""  # version.json, version.txt, nvcc, package, file names
    has_nvcc: bool = False
    complete: bool | None = None  # nvcc, headers and libcudart all there
    origin: str = ""  # runfile, package, wheel, conda, link
    gcc_max: Version | None = None  # newest gcc major that its own headers accept (crt/host_config.h)


@record
class CudaLink:
    """Where the link /usr/local/cuda points, and whether that exists."""

    target: str
    resolves: bool


@record
class Nvcc:
    """What `nvcc` on PATH really is."""

    path: str
    real_path: str
    version: Version | None
    wrapper: bool = False  # a script or ccache link that starts another nvcc
    toolkit_path: str = ""


@record
class Cudnn:
    """One cuDNN found on disk; `sublibraries` maps each library file to its version."""

    version: Version
    path: str
    origin: str  # header, system, toolkit, wheel, conda
    cuda: Version | None = None
    sublibraries: Mapping[str, Version] = field(default_factory=dict)


@record
class HostCompiler:
    """A C++ compiler that nvcc could call."""

    name: str  # gcc, clang
    version: Version
    path: str
    default: bool = False


@record
class Distribution:
    """One installed Python distribution. `requires` are its raw requirement lines."""

    name: str  # normalised: lower case, '-'
    version: str
    path: str = ""
    requires: tuple[str, ...] = ()
    wheel_tags: tuple[str, ...] = ()
    installer: str = ""
    user_site: bool = False


@record
class LibraryUse:
    """Which file a consumer library would load for one needed soname, and by what rule."""

    consumer: str
    soname: str
    path: str | None  # None: not found
    rule: str = ""  # RPATH, RUNPATH, LD_LIBRARY_PATH, ld.so.cache, default, missing
    version: str = ""


@record
class FrameworkInstall:
    """One framework in one Python environment, read from its files without importing it."""

    name: str  # our framework id: pytorch, tensorflow …
    version: str
    package: str
    cuda: Version | None = None  # CUDA it was built for
    cuda_known: bool = False  # True with cuda None: certainly a CPU-only build
    cudnn: Version | None = None
    sm_arch_list: tuple[ComputeCapability, ...] | None = None  # SASS in its binaries
    ptx_arch_list: tuple[ComputeCapability, ...] | None = None
    rocm: bool = False
    git_version: str = ""
    path: str = ""
    source: str = ""


@record
class PythonEnvironment:
    """One Python interpreter and what is installed for it."""

    prefix: str
    version: Version | None
    executable: str = ""
    kind: str = ""  # system, venv, conda, pyenv, user
    active: bool = False
    distributions: tuple[Distribution, ...] = ()
    frameworks: tuple[FrameworkInstall, ...] = ()
    library_uses: tuple[LibraryUse, ...] = ()
    owners_clash: tuple[str, ...] = ()  # files that two distributions own
    shadowing_modules: tuple[str, ...] = ()  # torch.py, numpy/ … in the working folder
    pip_python: str = ""  # interpreter of the `pip` on PATH
    cudnn_sublibraries: Mapping[str, Version] = field(default_factory=dict)
    build_tools: Mapping[str, str] = field(default_factory=dict)  # nvcc, ptxas, libdevice, Python.h, cc, libcuda.so
    ptxas_version: Version | None = None  # CUDA release of the ptxas that Triton or XLA would start
    glibc_needed: Mapping[str, Version] = field(default_factory=dict)  # binary -> highest GLIBC symbol version
    glibcxx_needed: Mapping[str, Version] = field(default_factory=dict)  # binary -> highest GLIBCXX symbol version
    libstdcxx: str = ""  # the libstdc++.so.6 that this Python loads first
    libstdcxx_version: Version | None = None  # its highest GLIBCXX
    unresolved_symbols: tuple[str, ...] = ()  # 'package: symbol' that torch's libraries do not export


@record
class DockerEngine:
    """What the Docker engine answers about itself."""

    version: Version | None
    api_version: Version | None = None
    runtimes: tuple[str, ...] = ()
    default_runtime: str = ""
    cdi_spec_dirs: tuple[str, ...] | None = None
    rootless: bool | None = None
    operating_system: str = ""
    cgroup_driver: str = ""
    root_dir: str = ""
    snap: bool | None = None


@record
class Containers:
    """Container engines and the NVIDIA container toolkit."""

    docker: Observed[DockerEngine] = field(default_factory=unseen)
    docker_client: Observed[Version] = field(default_factory=unseen)
    buildx: Observed[str] = field(default_factory=unseen)
    container_toolkit: Observed[Version] = field(default_factory=unseen)
    daemon_json: Observed[Mapping[str, object]] = field(default_factory=unseen)
    cdi_specs: Observed[tuple[str, ...]] = field(default_factory=unseen)  # files with kind nvidia.com/gpu
    cdi_missing_paths: Observed[tuple[str, ...]] = field(default_factory=unseen)  # paths that a spec names, not there
    toolkit_config: Observed[Mapping[str, str]] = field(default_factory=unseen)  # keys of config.toml
    podman: Observed[Version] = field(default_factory=unseen)
    injected: Observed[bool] = field(default_factory=unseen)  # inside a container: the driver was mounted in
    device_links: Observed[bool] = field(default_factory=unseen)  # /dev/char holds links to the driver's nodes


@record
class SystemPackage:
    """An installed system package that has to do with GPUs."""

    name: str
    version: str
    manager: str  # dpkg, rpm
    state: str = "installed"
    origin: str = ""


@record
class Message:
    """A known error message seen in a log or in a pasted text. `values` are what it names (versions, counts …)."""

    signature: str  # key in the signatures table
    text: str  # the line as it stood
    line: int = 0
    values: Mapping[str, str] = field(default_factory=dict)


@record
class Measurement:
    """One result of `--deep`: a framework import, a kernel, a convolution or a copy."""

    name: str
    subject: str
    passed: bool | None
    value: float | None = None
    unit: str = ""
    detail: str = ""


@record
class Environment:
    """Everything observed about one machine; what a check may read."""

    origin: str = "this machine"  # this machine, a capture, a facts file, a text, a root
    collected_at: str = ""
    system: System = field(default_factory=System)
    kernel: Kernel = field(default_factory=Kernel)
    pci_gpus: Observed[tuple[PciGpu, ...]] = field(default_factory=unseen)
    driver: Driver = field(default_factory=Driver)
    gpus: Observed[tuple[Gpu, ...]] = field(default_factory=unseen)
    cuda_toolkits: Observed[tuple[CudaToolkit, ...]] = field(default_factory=unseen)
    nvcc: Observed[Nvcc] = field(default_factory=unseen)
    cudnns: Observed[tuple[Cudnn, ...]] = field(default_factory=unseen)
    host_compilers: Observed[tuple[HostCompiler, ...]] = field(default_factory=unseen)
    pythons: Observed[tuple[PythonEnvironment, ...]] = field(default_factory=unseen)
    containers: Containers = field(default_factory=Containers)
    variables: Observed[Mapping[str, str]] = field(default_factory=unseen)  # CUDA_*, NVIDIA_*, LD_*, NCCL_*, PATH …
    packages: Observed[tuple[SystemPackage, ...]] = field(default_factory=unseen)
    repositories: Observed[tuple[str, ...]] = field(default_factory=unseen)  # package sources that carry NVIDIA
    network_interfaces: Observed[tuple[str, ...]] = field(default_factory=unseen)
    messages: Observed[tuple[Message, ...]] = field(default_factory=unseen)
    measurements: Observed[tuple[Measurement, ...]] = field(default_factory=unseen)
    package_changes: Observed[tuple[str, ...]] = field(default_factory=unseen)  # driver packages changed since boot
    nccl_config: Observed[Mapping[str, str]] = field(default_factory=unseen)  # nccl.conf files
    cuda_link: Observed[CudaLink] = field(default_factory=unseen)  # /usr/local/cuda, when it is a link
