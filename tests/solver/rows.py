"""Hand-made rows for the relations, with values copied from NVIDIA's and the frameworks' pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from envkit.base.versions import ComputeCapability, Version
from envkit.tables.rows import (
    CudnnRelease,
    DriverBranch,
    Framework,
    FrameworkBuild,
    FrameworkImage,
    GpuModel,
    ImageTag,
    OperatingSystem,
    PackageFile,
    PackageRequirements,
    PythonSource,
    Runfile,
    Toolkit,
)


def v(text: str) -> Version:
    return Version.parse(text)


def cc(text: str) -> ComputeCapability:
    return ComputeCapability.parse(text)


def ccs(text: str) -> tuple[ComputeCapability, ...]:
    return tuple(cc(part) for part in text.split())


def libraries_since(version: Version) -> Version:
    """The libraries of CUDA 11 kept their names from 11.2 on, those of later majors from their first release on."""
    if version.major > 11:
        return Version.of(version.major, 0)
    return Version.of(11, 2) if version.major == 11 and version.minor >= 2 else version.release(2)


def toolkit(
    version: str,
    driver: str | None,
    minor: str | None = None,
    *,
    low: str | None = None,
    high: str | None = None,
    targets: str | None = None,
    windows: str | None = None,
    windows_minor: str | None = None,
    compat: str = "",
    gcc: str | None = None,
    clang: str | None = None,
    os_ids: tuple[str, ...] | None = None,
    complete: bool = False,
) -> Toolkit:
    return Toolkit(
        version=v(version),
        release_date=None,
        bundled_driver=None,
        minimum_driver=v(driver) if driver else None,
        minor_compatibility_driver=v(minor) if minor else None,
        libraries_since=libraries_since(v(version)),
        minimum_windows_driver=v(windows) if windows else None,
        compute_capabilities=ccs(targets) if targets else None,
        min_compute_capability=cc(low) if low else None,
        max_compute_capability=cc(high) if high else None,
        gcc_min=None,
        gcc_max=v(gcc) if gcc else None,
        clang_max=v(clang) if clang else None,
        os_ids=os_ids,
        os_ids_complete=complete,
        installer_style="new",
        sources=("notes",),
        minor_compatibility_windows_driver=v(windows_minor) if windows_minor else None,
        compat_branches=tuple(map(int, compat.split())) if compat else None,
    )


def branch(
    number: int, cuda: str, families: str, kind: str = "", first: str | None = None, windows: str = ""
) -> DriverBranch:
    return DriverBranch(
        branch=number,
        kind=kind,
        first_version=v(first) if first else None,
        last_version=None,
        end_of_life=None,
        families=tuple(families.split()) if families else None,
        driver_cuda_version=v(cuda) if cuda else None,
        open_kernel_module="none",
        sources=("branches",),
        windows_majors=tuple(map(int, windows.split())),
    )


def gpu(
    name: str,
    capability: str,
    family: str,
    *,
    last: int | None = None,
    first: str | None = None,
    data_center: bool = False,
) -> GpuModel:
    return GpuModel(
        name=name,
        aliases=(),
        variant="",
        family=family,
        chip="",
        compute_capability=cc(capability),
        memory_gb=None,
        memory_bandwidth_gbs=None,
        fp32_tflops=None,
        tdp_w=None,
        pcie_generation=None,
        pcie_lanes=None,
        tensor_cores=None,
        launch_year=None,
        device_ids=(),
        last_driver_branch=last,
        first_driver=v(first) if first else None,
        architecture=None,
        data_center=data_center,
        sources=("gpus",),
    )


def build(
    version: str = "1.0",
    cuda: str | None = "11.8",
    *,
    framework: str = "pytorch",
    sass: str | None = None,
    ptx: str | None = None,
    minimum: str | None = None,
    pythons: str = "",
    cudnn: str | None = None,
    glibc: str | None = None,
    numpy: str | None = None,
    bundles: bool | None = True,
    cpu_only: bool = False,
) -> FrameworkBuild:
    return FrameworkBuild(
        framework=framework,
        version=v(version),
        release_date=None,
        pythons=tuple(v(part) for part in pythons.split()),
        cuda=v(cuda) if cuda else None,
        cudnn=v(cudnn) if cudnn else None,
        package=f"torch=={version}",
        on_pypi=True,
        index_url=None,
        find_links=None,
        companions=(),
        sass=ccs(sass) if sass is not None else None,
        ptx=ccs(ptx) if ptx is not None else None,
        min_compute_capability=cc(minimum) if minimum else None,
        bundles_cuda=bundles,
        cpu_only=cpu_only,
        architectures=("x86_64",),
        platforms=("linux",),
        min_glibc=v(glibc) if glibc else None,
        numpy=numpy,
        archived=False,
        yanked=False,
        sources=("wheel",),
    )


def cudnn(version: str, cuda: str, *, low: str | None = None, high: str | None = None, spans: str = "") -> CudnnRelease:
    return CudnnRelease(
        version=v(version),
        soname_major=v(version).major,
        cuda=v(cuda),
        supported_cuda=tuple(spans.split()),
        architecture="x86_64",
        archive=None,
        url=None,
        sha256=None,
        deb_packages=(),
        pip_package=None,
        minimum_driver=None,
        min_compute_capability=cc(low) if low else None,
        max_compute_capability=cc(high) if high else None,
        sources=("cudnn",),
    )


def system(os_id: str, *, glibc: str | None = None, gcc: str | None = None, others: str = "") -> OperatingSystem:
    return OperatingSystem(
        os_id=os_id,
        family="debian",
        package_manager="apt",
        glibc=v(glibc) if glibc else None,
        default_gcc=v(gcc) if gcc else None,
        installable_gcc=tuple(v(part) for part in others.split()),
        default_python=None,
        other_pythons=(),
        end_of_support=None,
        extended_support_end=None,
        repository_id=None,
        base_image=None,
        kernel_headers=None,
        initramfs_tool=None,
        driver_packages=None,
        sources=("os",),
    )


def image(state: str) -> ImageTag:
    return ImageTag(
        "nvidia/cuda", "12.4.1-base-ubuntu22.04", v("12.4.1"), "", "base", "ubuntu22.04", state, None, None, ("tags",)
    )


@dataclass(frozen=True)
class Rows:
    """Tables of a few hand-made rows."""

    toolkits: tuple[Toolkit, ...] = ()
    driver_branches: tuple[DriverBranch, ...] = ()
    gpus: tuple[GpuModel, ...] = ()
    cudnns: tuple[CudnnRelease, ...] = ()
    image_tags: tuple[ImageTag, ...] = ()
    operating_systems: tuple[OperatingSystem, ...] = ()
    python_sources: tuple[PythonSource, ...] = ()
    frameworks: tuple[FrameworkBuild, ...] = ()
    package_requirements: tuple[PackageRequirements, ...] = ()
    package_files: tuple[PackageFile, ...] = ()

    @property
    def data_date(self) -> str:
        return max((row.release_date for row in self.toolkits if row.release_date), default="")

    @property
    def framework_images(self) -> tuple[FrameworkImage, ...]:
        return ()

    @property
    def supported_image_tags(self) -> tuple[ImageTag, ...]:
        return tuple(tag for tag in self.image_tags if tag.state == "supported")

    def runfiles(self, cuda: Version, architecture: str) -> tuple[Runfile, ...]:
        return ()

    def framework(self, name: str) -> Framework | None:
        return None

    def builds(self, framework_name: str) -> tuple[FrameworkBuild, ...]:
        return tuple(row for row in self.frameworks if row.framework == framework_name)

    def operating_system(self, os_id: str) -> OperatingSystem | None:
        return next((row for row in self.operating_systems if row.os_id == os_id), None)


# CUDA Toolkit release notes, table "CUDA Toolkit and Corresponding Driver Versions"; CUDA compatibility guide
TOOLKITS = (
    toolkit("9.0.176", "384.81", low="3.0", high="7.0", gcc="6", os_ids=("ubuntu16.04",), windows="385.54"),
    toolkit("10.0.130", "410.48", low="3.0", high="7.5", gcc="7"),
    toolkit("11.0.3", "450.51.06", "450.36.06", low="3.5", high="8.0", gcc="9"),
    toolkit(
        "11.8.0",
        "520.61.05",
        "450.80.02",
        targets="3.5 3.7 5.0 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0",
        low="3.5",
        high="9.0",
        gcc="11",
        clang="14",
        os_ids=("ubuntu22.04",),
        complete=True,
        windows="520.06",
        windows_minor="452.39",
        compat="450 470",
    ),
    toolkit(
        "12.4.0", "550.54.14", "525.60.13", targets="5.0 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0", low="5.0", high="9.0"
    ),
    toolkit(
        "12.4.1",
        "550.54.15",
        "525.60.13",
        targets="5.0 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0",
        low="5.0",
        high="9.0",
        compat="470 525 535",  # NVIDIA_REQUIRE_CUDA of nvidia/cuda:12.4.1-base-ubuntu22.04
    ),
    toolkit(
        "12.8.0", "570.26", "525.60.13", targets="5.0 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0 10.0 12.0", low="5.0", high="12.0"
    ),
    toolkit(
        "13.0.0", "580.65.06", "580", targets="7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 11.0 12.0 12.1", low="7.5", high="12.1"
    ),
    toolkit("13.4.1", None, "580"),
)

# NVIDIA UNIX driver archive and data-center driver pages
BRANCHES = (
    branch(384, "9.0", "Kepler Maxwell Pascal Volta", first="384.81"),
    branch(390, "9.1", "Kepler Maxwell Pascal Volta", "lts"),
    branch(450, "11.0", "Kepler Maxwell Pascal Volta Turing Ampere", "lts"),
    branch(465, "11.3", "Kepler Maxwell Pascal Volta Turing Ampere", "new-feature"),
    branch(470, "11.4", "Kepler Maxwell Pascal Volta Turing Ampere", "lts", first="470.42.01", windows="471 475"),
    branch(535, "12.2", "Maxwell Pascal Volta Turing Ampere Ada Hopper", "lts"),
    branch(570, "12.8", "Maxwell Pascal Volta Turing Ampere Ada Hopper Blackwell", "production", first="570.86.10"),
    branch(580, "13.0", "Maxwell Pascal Volta Turing Ampere Ada Hopper Blackwell", "lts", windows="580 581"),
    branch(590, "13.1", "Turing Ampere Ada Hopper Blackwell", "new-feature"),
    branch(615, "13.4", "", ""),
)

GPUS = (
    gpu("Tesla K80", "3.7", "Kepler", last=470, data_center=True),
    gpu("GeForce GTX 1080 Ti", "6.1", "Pascal", last=580),
    gpu("Tesla V100", "7.0", "Volta", last=580, data_center=True),
    gpu("GeForce RTX 2080 Ti", "7.5", "Turing"),
    gpu("GeForce RTX 3090", "8.6", "Ampere"),
    gpu("H100", "9.0", "Hopper", data_center=True),
    gpu("B200", "10.0", "Blackwell", data_center=True),
    gpu("GeForce RTX 5090", "12.0", "Blackwell"),
)

TABLES = Rows(toolkits=TOOLKITS, driver_branches=BRANCHES, gpus=GPUS)


def with_cudnns(*rows: CudnnRelease) -> Rows:
    return replace(TABLES, cudnns=rows)
