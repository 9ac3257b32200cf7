"""The typed rows of the compatibility tables: one relation per row, each with its sources; None is unknown.

`sources` hold keys of `sources.csv`. `Matrix` hands them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version
from envkit.tables.loader import read, table

_SYSTEMS = {
    "almalinux": "AlmaLinux", "amzn": "Amazon Linux", "azl": "Azure Linux", "centos": "CentOS", "cm": "CBL-Mariner",
    "debian": "Debian", "fedora": "Fedora", "jetson": "Jetson", "kylin": "Kylin", "linux": "Linux",
    "opensuse": "openSUSE", "oraclelinux": "Oracle Linux", "rhel": "RHEL", "rockylinux": "Rocky Linux", "sles": "SLES",
    "ubi": "UBI", "ubuntu": "Ubuntu", "windows": "Windows", "wsl": "WSL",
}  # fmt: skip


def os_title(os_id: str) -> str:
    """A system's or platform's id as people write it: `Ubuntu 22.04` of `ubuntu22.04`, `Windows` of `windows`."""
    name = os_id.rstrip("0123456789.")
    release = os_id[len(name) :]
    return f"{_SYSTEMS[name]} {release}".rstrip() if name in _SYSTEMS else os_id


@cache
def framework_title(name: str) -> str:
    """A framework as its developers write it: `PyTorch` of `pytorch`; one that is not in the table as it is named."""
    return next((row.title for row in read(Framework) if row.name == name), name)


@table("toolkits.csv", "version", installer_style=("legacy", "new"))
@record
class Toolkit:
    """One CUDA toolkit release. Driver floors are the release notes' own; `os_ids` may be incomplete."""

    version: Version  # 9.0.176
    release_date: str | None
    bundled_driver: Version | None
    minimum_driver: Version | None  # Linux, native
    minor_compatibility_driver: Version | None  # Linux floor of the whole major line (CUDA 11 on)
    minimum_windows_driver: Version | None
    libraries_since: Version | None  # the first release line whose libraries have the names of this one's
    compute_capabilities: tuple[ComputeCapability, ...] | None  # nvcc targets; None where not recorded
    min_compute_capability: ComputeCapability | None
    max_compute_capability: ComputeCapability | None
    gcc_min: Version | None
    gcc_max: Version | None
    clang_max: Version | None
    os_ids: tuple[str, ...] | None
    os_ids_complete: bool
    installer_style: str  # legacy, new
    sources: tuple[str, ...]
    note: str = ""
    minor_compatibility_windows_driver: Version | None = None  # the same floor on Windows
    compat_branches: tuple[int, ...] | None = None  # driver branches that its cuda-compat takes; None: not recorded
    nvcc: Version | None = None  # its nvcc's own version, which update releases may share; None: not recorded

    @cached_property
    def release(self) -> Version:
        """The release line, such as 9.0 of 9.0.176."""
        return self.version.release(2)

    @cached_property
    def minors(self) -> dict[int, tuple[int, ...]]:
        """The minor compute capabilities that nvcc targets, by their major."""
        targets = self.compute_capabilities or ()
        return {one.major: tuple(other.minor for other in targets if other.major == one.major) for one in targets}


@table("runfiles.csv", "cuda", "architecture", "order", kind=("toolkit", "patch"), architecture=("x86_64", "aarch64"))
@record
class Runfile:
    """One installer file. `kind` is toolkit or patch; patches apply in `order` (the toolkit is 0)."""

    cuda: Version
    architecture: str  # x86_64, aarch64 (sbsa)
    kind: str
    order: int
    name: str
    url: str
    sha256: str | None
    md5: str | None
    sources: tuple[str, ...]


@table("driver_branches.csv", "branch", open_kernel_module=("none", "available", "default", "only"))
@record
class DriverBranch:
    """One driver branch and what it supports. `open_kernel_module`: none, available, default, only."""

    branch: int
    kind: str
    first_version: Version | None
    last_version: Version | None
    end_of_life: str | None
    families: tuple[str, ...] | None
    driver_cuda_version: Version | None  # highest CUDA it supports
    open_kernel_module: str
    sources: tuple[str, ...]
    windows_majors: tuple[int, ...] = ()  # first numbers that the branch's drivers for Windows have (581 of 581.15)


@table("gpus.csv", "name", "variant")
@record
class GpuModel:
    """One GPU model."""

    name: str
    aliases: tuple[str, ...]
    variant: str  # '', laptop, jetson, mining …
    family: str
    chip: str
    compute_capability: ComputeCapability
    memory_gb: float | None
    memory_bandwidth_gbs: float | None
    fp32_tflops: float | None
    tdp_w: int | None
    pcie_generation: int | None
    pcie_lanes: int | None
    tensor_cores: bool | None
    launch_year: int | None
    device_ids: tuple[str, ...]  # upper-case hex
    last_driver_branch: int | None  # None: current branches still support it, or unknown
    first_driver: Version | None  # no older one knows it, though its branch knows the family; None: no such bound
    architecture: str | None  # of the processor that it is built onto; None for a card that any machine may hold
    data_center: bool
    sources: tuple[str, ...]


@table(
    "gpu_boards.csv",
    "name",
    "variant",
    form=("desktop", "laptop", "passive", "module", "embedded", "system", "mining", ""),
)
@record
class GpuBoard:
    """What a GPU model's board is, and its rates by precision. `GpuModel` of the same name and variant has the rest.

    `form`: desktop (a card for a slot, with display outputs), passive (a card for a server's airflow), module (soldered
    or on a server's board), laptop, embedded, system (a computer of its own), mining. The rates of tensor cores are
    those of dense matrices with sums in fp32; data sheets print twice as much, for sparse ones or for sums in fp16.
    """

    name: str
    variant: str
    form: str | None
    gpus_per_board: int | None
    ecc: bool | None
    nvlink_gbs: float | None  # both ways together; 0 is certainly none
    cores: int | None
    boost_mhz: int | None
    l2_mb: float | None
    fp16_tflops: float | None  # without tensor cores, where that is not the rate of fp32
    tensor_fp16_tflops: float | None
    tensor_bf16_tflops: float | None
    tensor_tf32_tflops: float | None
    tensor_fp8_tflops: float | None
    tensor_int8_tops: float | None
    sources: tuple[str, ...]


@table("cudnn.csv", "version", "cuda", "architecture")
@record
class CudnnRelease:
    """One cuDNN build. `cuda` is the line in its package name, `supported_cuda` the specs that it runs on."""

    version: Version
    soname_major: int
    cuda: Version
    supported_cuda: tuple[str, ...]  # specs such as 12.x, 12.0-12.9, 10.2
    architecture: str
    archive: str | None
    url: str | None
    sha256: str | None
    deb_packages: tuple[str, ...]
    pip_package: str | None
    minimum_driver: Version | None
    min_compute_capability: ComputeCapability | None
    max_compute_capability: ComputeCapability | None
    sources: tuple[str, ...]


@table("image_tags.csv", "repository", "tag", state=("supported", "unsupported", "deleted", "seen", "never"))
@record
class ImageTag:
    """One image tag, on `date` as far as known. A tag that has no row is unknown.

    `state`: supported, unsupported (there, end of life), seen (there, support unknown), deleted, never (did not exist).
    """

    repository: str
    tag: str
    cuda: Version | None
    cudnn: str  # '', cudnn8, cudnn …
    flavor: str  # base, runtime, devel
    os_id: str
    state: str
    date: str | None
    digest: str | None
    sources: tuple[str, ...]


@table(
    "framework_images.csv",
    "repository",
    "tag",
    state=("supported", "unsupported", "deleted", "seen", "never", "derived"),
)
@record
class FrameworkImage:
    """One official framework image tag. `state` seen: in use; derived: named by the scheme its project documents."""

    framework: str
    version: Version | None
    repository: str
    tag: str
    cuda: Version | None
    cudnn: str | None
    python: Version | None
    os_id: str | None
    flavor: str
    state: str
    sources: tuple[str, ...]


@table("frameworks.csv", "name")
@record
class Framework:
    """One framework by our name. `aliases` are other words for it (torch), `packages` its distributions on an index."""

    name: str  # pytorch
    title: str  # PyTorch
    aliases: tuple[str, ...]
    packages: tuple[str, ...]
    import_name: str  # torch
    archived: bool
    note: str  # for an archived one: its last usable combination, in words
    sources: tuple[str, ...]
    cuda_from: tuple[str, ...] = ()  # the frameworks whose CUDA it uses, for one that has none of its own
    checked: str = ""  # the day on which its builds were last compared with their sources
    limit_days: int | None = None  # for how many days that is good; None: no more builds are to come


@table(
    "frameworks/{}.csv",
    *("version", "cuda", "cudnn", "package", "index_url", "find_links", "architectures", "platforms", "note"),
)
@record
class FrameworkBuild:
    """One build of a framework: version × CUDA variant. `cuda` None with `cpu_only` True is certainly a CPU build."""

    framework: str  # pytorch
    version: Version  # 1.1.0
    release_date: str | None
    pythons: tuple[Version, ...]  # 2.7, 3.10; empty: unknown
    cuda: Version | None  # release line 9.0
    cudnn: Version | None
    package: str | None  # torch==1.1.0 ; None: source build or image only
    on_pypi: bool
    index_url: str | None  # whole --index-url, where not on the default index
    find_links: str | None  # whole -f page
    companions: tuple[str, ...]  # requirement lines to install next to it
    sass: tuple[ComputeCapability, ...] | None  # binary code in the build
    ptx: tuple[ComputeCapability, ...] | None  # PTX in the build; () is certainly none, None is unknown
    min_compute_capability: ComputeCapability | None
    bundles_cuda: bool | None  # CUDA libraries come with the package
    cpu_only: bool
    architectures: tuple[str, ...]  # x86_64, aarch64
    platforms: tuple[str, ...]  # linux, windows
    min_glibc: Version | None
    numpy: str | None  # requirement, such as <2
    archived: bool  # the project or this line has ended
    yanked: bool
    sources: tuple[str, ...]
    note: str = ""
    cuda_min: Version | None = None  # lowest and highest CUDA it works with, where `cuda` is a whole major line (12)
    cuda_max: Version | None = None
    execstack_glibc: Version | None = None  # first glibc that refuses one of its libraries: it asks for such a stack

    @property
    def named(self) -> str:
        """The framework and its release in words: `PyTorch 1.1.0`."""
        return f"{framework_title(self.framework)} {self.version}"


@table("package_requirements.csv", "package", "place", "architectures")
@record
class PackageRequirements:
    """What a build's package requires of the CUDA libraries' packages on Linux, with those that it requires in turn."""

    package: str  # as the build names it: torch==2.6.0
    place: str  # the build's index or page; blank for the default index
    architectures: tuple[str, ...]
    requires: tuple[str, ...] | None  # requirement lines; () is certainly none
    sources: tuple[str, ...]


@table("package_files.csv", "file", "package")
@record
class PackageFile:
    """A file that versions of a package write, where another package writes one of the same name."""

    file: str
    package: str
    versions: str
    sources: tuple[str, ...]


@table("operating_systems.csv", "os_id", package_manager=("apt", "dnf", "yum", "zypper", ""))
@record
class OperatingSystem:
    """One distribution release."""

    os_id: str
    family: str  # debian, rhel, suse, amazon
    package_manager: str  # apt, dnf, yum, zypper
    glibc: Version | None
    default_gcc: Version | None
    installable_gcc: tuple[Version, ...]
    default_python: Version | None
    other_pythons: tuple[Version, ...]
    end_of_support: str | None
    extended_support_end: str | None
    repository_id: str | None  # NVIDIA's folder name: ubuntu2204, rhel9
    base_image: str | None  # plain distribution image: ubuntu:22.04
    kernel_headers: str | None
    initramfs_tool: str | None
    driver_packages: str | None
    sources: tuple[str, ...]
    code_name: str = ""  # jammy, where tags of images have it for the release
    released: str | None = None  # 2024-04

    @property
    def title(self) -> str:
        """The release as people write it: `Ubuntu 22.04`."""
        return os_title(self.os_id)

    @cached_property
    def pythons(self) -> tuple[Version, ...]:
        """The Pythons that its own packages provide."""
        return (*([self.default_python] if self.default_python else []), *self.other_pythons)


@table("python_sources.csv", "way", "python", "os_ids", way=("deadsnakes", "standalone", "conda"))
@record
class PythonSource:
    """One way to get a Python. `way`: system (its rows are made from the systems'), deadsnakes, standalone, conda."""

    way: str
    python: Version
    exact: str | None
    os_ids: tuple[str, ...]  # empty: any that meets min_glibc
    min_glibc: Version | None
    architectures: tuple[str, ...]
    pinned: bool  # False: its files have no checksum in the data, so no script and no Dockerfile can fetch them
    sources: tuple[str, ...]


def system_pythons(systems: Iterable[OperatingSystem]) -> Iterator[PythonSource]:
    """The Pythons of the distributions, oldest first, each with the releases that have it."""
    having: dict[Version, list[OperatingSystem]] = {}
    for system in systems:
        for python in system.pythons:
            having.setdefault(python, []).append(system)
    for python, rows in sorted(having.items()):
        keys = dict.fromkeys(key for row in rows for key in row.sources)
        os_ids = tuple(row.os_id for row in rows)
        yield PythonSource("system", python, None, os_ids, None, ("x86_64", "aarch64"), True, tuple(keys))


@table("tables.csv", "table")
@record
class TableStatus:
    """When a table was last compared with its sources, and for how many days that is good (None: it is final)."""

    table: str
    checked: str  # date
    limit_days: int | None


@table("jetpacks.csv", "l4t")
@record
class JetPack:
    """One release of the software of Jetson boards; `released`: not a preview."""

    l4t: Version
    jetpack: Version
    released: bool
    cuda: Version | None
    cudnn: Version | None
    tensorrt: Version | None
    os_id: str | None
    compute_capabilities: tuple[ComputeCapability, ...]  # of the boards that it is for
    sources: tuple[str, ...]
