"""What the relations and the resolver read of the compatibility tables; `envkit.tables.Matrix` provides it."""

from __future__ import annotations

from typing import Protocol

from envkit.base.versions import Version
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


class Tables(Protocol):
    """The tables that a plan is made from; each is read only when it is asked for."""

    @property
    def data_date(self) -> str:
        """The day that the tables speak for, `2026-11-21`; '' where none is given."""

    @property
    def toolkits(self) -> tuple[Toolkit, ...]:
        """Every CUDA toolkit, oldest first."""

    @property
    def driver_branches(self) -> tuple[DriverBranch, ...]:
        """Every driver branch, oldest first."""

    @property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Every GPU model."""

    @property
    def cudnns(self) -> tuple[CudnnRelease, ...]:
        """Every cuDNN build, oldest first."""

    @property
    def supported_image_tags(self) -> tuple[ImageTag, ...]:
        """The image tags that are supported."""

    @property
    def package_requirements(self) -> tuple[PackageRequirements, ...]:
        """What the packages of builds require of the CUDA libraries' packages."""

    @property
    def package_files(self) -> tuple[PackageFile, ...]:
        """The files that several packages of CUDA libraries write."""

    @property
    def framework_images(self) -> tuple[FrameworkImage, ...]:
        """The images of the frameworks' own projects."""

    @property
    def operating_systems(self) -> tuple[OperatingSystem, ...]:
        """Every distribution release."""

    @property
    def python_sources(self) -> tuple[PythonSource, ...]:
        """Every way to get a Python."""

    def runfiles(self, cuda: Version, architecture: str) -> tuple[Runfile, ...]:
        """The installers of one toolkit: the toolkit, then its patches."""

    def framework(self, name: str) -> Framework | None:
        """The framework of that name or alias."""

    def builds(self, framework_name: str) -> tuple[FrameworkBuild, ...]:
        """Every build of a framework."""

    def operating_system(self, os_id: str) -> OperatingSystem | None:
        """The distribution release of that id."""


class GpuTables(Protocol):
    """Looking up a GPU that was seen on a machine."""

    @property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Every GPU model."""

    def gpu_by_name(self, name: str) -> GpuModel | None:
        """The model of that name or alias; None of a name of several chips."""

    def gpus_by_name(self, name: str) -> tuple[GpuModel, ...]:
        """Every model of that name or alias."""

    def gpus_by_device_id(self, device_id: str) -> tuple[GpuModel, ...]:
        """The models with that PCI device id."""

    def __hash__(self) -> int:
        """What was found in the tables is kept with them."""
