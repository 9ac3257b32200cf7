"""The machine below the driver: distribution, kernel, limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from envkit._startup.records import field, record
from envkit.base.versions import Version
from envkit.model.observed import Observed, unseen
from envkit.model.privacy import FilePath, FreeText, Hidden, Interface, Name, Plain


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

    os_id: Plain
    id: Plain
    version_id: Plain
    pretty_name: FreeText = ""
    id_like: tuple[Plain, ...] = ()


@record
class Identity:
    """What this machine and its users are called: masks are made with it, and no output holds it."""

    users: tuple[Hidden, ...] = ()
    hosts: tuple[Hidden, ...] = ()


@record
class System:
    """The machine below the driver."""

    os: Observed[OsRelease] = field(default_factory=unseen)
    architecture: Observed[Plain] = field(default_factory=unseen)  # x86_64, aarch64
    kernel: Observed[Plain] = field(default_factory=unseen)  # uname -r
    glibc: Observed[Version] = field(default_factory=unseen)
    glibcxx: Observed[Version] = field(default_factory=unseen)  # highest GLIBCXX of libstdc++.so.6
    machine_kind: Observed[MachineKind] = field(default_factory=unseen)
    vendor: Observed[Plain] = field(default_factory=unseen)  # DMI vendor and product, hypervisor or container engine
    user_id: Observed[int] = field(default_factory=unseen)
    groups: Observed[tuple[Name, ...]] = field(default_factory=unseen)
    secure_boot: Observed[bool] = field(default_factory=unseen)
    selinux: Observed[Plain] = field(default_factory=unseen)  # enforcing, permissive, disabled
    processors: Observed[int] = field(default_factory=unseen)
    usable_processors: Observed[int] = field(default_factory=unseen)  # allowed to this process, and within its quota
    memory_bytes: Observed[int] = field(default_factory=unseen)
    memlock_bytes: Observed[int] = field(default_factory=unseen)  # soft limit; -1 is unlimited
    shm_bytes: Observed[int] = field(default_factory=unseen)  # size of /dev/shm
    free_bytes: Observed[Mapping[FilePath, int]] = field(default_factory=unseen)  # by mount point or path
    tmp_noexec: Observed[bool] = field(default_factory=unseen)
    last_resume: Observed[FreeText] = field(default_factory=unseen)  # the machine slept since boot: when
    display_server: Observed[Plain] = field(default_factory=unseen)  # Xorg, Xwayland …, when one runs
    platform_model: Observed[Plain] = field(default_factory=unseen)  # /proc/device-tree/model (Jetson)
    l4t_release: Observed[Version] = field(default_factory=unseen)
    lockdown: Observed[Plain] = field(default_factory=unseen)  # none, integrity, confidentiality
    prime_profile: Observed[Plain] = field(default_factory=unseen)  # /etc/prime-discrete: on, off, on-demand
    infiniband_devices: Observed[tuple[Interface, ...]] = field(default_factory=unseen)
    hosted_guests: Observed[FreeText] = field(default_factory=unseen)  # what shows that it hosts virtual machines
    firmware: Observed[Plain] = field(default_factory=unseen)  # of a virtual machine: SeaBIOS, OVMF
    gpu_enclosure: Observed[FreeText] = field(default_factory=unseen)  # what shows a GPU outside its case (eGPU)
    meant_without_gpu: Observed[FreeText] = field(default_factory=unseen)  # who says that it has no GPU on purpose


@record
class ModuleFile:
    """One nvidia kernel module file on disk and the kernel that it belongs to."""

    kernel: Plain
    path: FilePath
    version: Version | None = None
    open_kernel_module: bool | None = None
    signed: bool | None = None


@record
class DkmsEntry:
    """One line of `dkms status`: module, its version, kernel ('' when only added) and state."""

    module: Plain
    version: Plain
    kernel: Plain
    state: Plain  # added, built, installed, broken


@record
class Kernel:
    """The running kernel and its modules."""

    cmdline: Observed[FreeText] = field(default_factory=unseen)
    loaded_modules: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # names, '_' spelling
    module_files: Observed[tuple[ModuleFile, ...]] = field(default_factory=unseen)
    headers: Observed[FilePath] = field(default_factory=unseen)  # path of /lib/modules/<kernel>/build when it resolves
    blacklisted: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # module names
    modprobe_options: Observed[Mapping[Plain, FreeText]] = field(default_factory=unseen)  # module -> options
    dkms: Observed[tuple[DkmsEntry, ...]] = field(default_factory=unseen)
    dkms_make_log: Observed[FreeText] = field(default_factory=unseen)  # tail of the newest failed make.log
    log: Observed[tuple[FreeText, ...]] = field(default_factory=unseen)  # lines on NVRM, Xid, AER, PCI, nouveau
    iommu: Observed[Plain] = field(default_factory=unseen)  # off, passthrough, translated
    acs_redirect: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # bridges above GPUs that redirect
    compiler: Observed[Version] = field(default_factory=unseen)  # the gcc that built the running kernel
