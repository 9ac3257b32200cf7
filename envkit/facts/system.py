"""The machine below the driver: distribution, kernel, limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from envkit.facts.observed import Observed, unseen
from envkit.records import field, record
from envkit.versions import Version


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
