"""The compatibility matrix: typed tables, read when they are asked for, each row with its sources."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar

from envkit.base.versions import Version
from envkit.tables.loader import DATA, Source, read, source
from envkit.tables.rows import (
    CudnnRelease,
    DriverBranch,
    Framework,
    FrameworkBuild,
    FrameworkImage,
    GpuBoard,
    GpuModel,
    ImageTag,
    JetPack,
    OperatingSystem,
    PackageFile,
    PackageRequirements,
    PythonSource,
    Runfile,
    TableStatus,
    Toolkit,
    system_pythons,
)

if TYPE_CHECKING:
    from os import PathLike

Row = TypeVar("Row")
_VENDOR_PREFIX = "nvidia "


class Matrix:
    """All compatibility tables. A table is read and validated on first use, DataError says what is wrong with one."""

    def __init__(self, folder: str | PathLike[str] = DATA) -> None:
        self._folder = folder

    @classmethod
    def load(cls, folder: str | PathLike[str] = DATA) -> Matrix:
        """The packaged tables, which are read but once, or those of `folder`. Reads nothing yet."""
        return cls._packaged() if folder == DATA else cls(folder)

    @classmethod
    @cache
    def _packaged(cls) -> Matrix:
        return cls()

    def _read(self, kind: type[Row], name: str = "", holding: str = "") -> tuple[Row, ...]:
        return read(kind, name, holding=holding, folder=self._folder)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every source that a row may name."""
        return self._read(Source)

    def source(self, key: str) -> Source:
        """The source of this key. Raises DataError when there is none."""
        return source(key, self._folder)

    @cached_property
    def toolkits(self) -> tuple[Toolkit, ...]:
        """Every CUDA toolkit release, oldest first."""
        return self._read(Toolkit)

    def toolkit(self, version: Version) -> Toolkit | None:
        """The toolkit of this version, or the newest one of this release line, or None."""
        held = [toolkit for toolkit in self.toolkits if toolkit.version.starts_with(version)]
        return held[-1] if held else None

    @cached_property
    def all_runfiles(self) -> tuple[Runfile, ...]:
        """Every installer of every toolkit."""
        return self._read(Runfile)

    def runfiles(self, cuda: Version, architecture: str) -> tuple[Runfile, ...]:
        """The installers of exactly this toolkit: the toolkit itself, then its patches in order."""
        rows = self._read(Runfile, holding=f"{cuda},")
        return tuple(row for row in rows if row.cuda == cuda and row.architecture == architecture)

    @cached_property
    def driver_branches(self) -> tuple[DriverBranch, ...]:
        """Every driver branch, oldest first."""
        return self._read(DriverBranch)

    def driver_branch(self, branch: int) -> DriverBranch | None:
        """The branch of this number (384 for driver 384.81), or None."""
        return next((row for row in self.driver_branches if row.branch == branch), None)

    @cached_property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Every GPU model; boards of one name that differ are told apart by `variant`."""
        return self._read(GpuModel)

    @cached_property
    def gpu_boards(self) -> tuple[GpuBoard, ...]:
        """What each GPU model's board is, and its rates by precision."""
        return self._read(GpuBoard)

    @cached_property
    def _gpus_by_device_id(self) -> dict[str, tuple[GpuModel, ...]]:
        found: dict[str, tuple[GpuModel, ...]] = {}
        for gpu in self.gpus:
            for device_id in gpu.device_ids:
                found[device_id] = (*found.get(device_id, ()), gpu)
        return found

    @cached_property
    def _gpus_by_name(self) -> dict[str, tuple[GpuModel, ...]]:
        # a name beats an alias, and of boards with one name the least capable beats the others
        ordered = sorted(self.gpus, key=lambda gpu: gpu.compute_capability.order)
        found: dict[str, tuple[GpuModel, ...]] = {}
        for names in (lambda gpu: (gpu.name,), lambda gpu: gpu.aliases):
            for gpu in ordered:
                for name in names(gpu):
                    key = _plain_name(name)
                    if gpu not in (known := found.get(key, ())):
                        found[key] = (*known, gpu)
        return found

    @cached_property
    def _gpus_asked_for(self) -> dict[str, tuple[GpuModel, ...]]:
        """The answers given so far: every check asks for the same few names."""
        return {}

    def gpus_by_device_id(self, device_id: str) -> tuple[GpuModel, ...]:
        """The models with this PCI device id (`1B06`, in hex of any case, with or without `0x`)."""
        return self._gpus_by_device_id.get(device_id.lower().removeprefix("0x").upper().zfill(4), ())

    def gpu_by_name(self, name: str) -> GpuModel | None:
        """The model of this name or alias, in any case, with or without `NVIDIA`; None of a name of several chips.

        A share of a board (vGPU, MIG) is that board. Of several boards with one name and compute capability, one that
        is called so rather than one that is also called so.
        """
        named = self.gpus_by_name(name)
        return named[0] if len({model.compute_capability for model in named}) == 1 else None

    def gpus_by_name(self, name: str) -> tuple[GpuModel, ...]:
        """Every model of this name or alias: `GeForce GT 730` was sold with three chips."""
        if name not in self._gpus_asked_for:
            from envkit.tables.gpu_names import board_names

            found = (self._gpus_by_name.get(board, ()) for board in board_names(_plain_name(name)))
            self._gpus_asked_for[name] = next(filter(None, found), ())
        return self._gpus_asked_for[name]

    @cached_property
    def cudnns(self) -> tuple[CudnnRelease, ...]:
        """Every cuDNN build, oldest first."""
        return self._read(CudnnRelease)

    @cached_property
    def image_tags(self) -> tuple[ImageTag, ...]:
        """Every known `nvidia/cuda` tag with its state; a tag without a row is unknown."""
        return self._read(ImageTag)

    @cached_property
    def supported_image_tags(self) -> tuple[ImageTag, ...]:
        """The `nvidia/cuda` tags that are supported: a quarter of the largest table, and all that a plan needs."""
        rows = self._read(ImageTag, holding=",supported,")
        return tuple(row for row in rows if row.state == "supported")

    @cached_property
    def framework_images(self) -> tuple[FrameworkImage, ...]:
        """Every known official framework image."""
        return self._read(FrameworkImage)

    @cached_property
    def jetpacks(self) -> tuple[JetPack, ...]:
        """Every release of the software of Jetson boards, oldest first."""
        return self._read(JetPack)

    @cached_property
    def frameworks(self) -> tuple[Framework, ...]:
        """Every framework that has a table of builds."""
        return self._read(Framework)

    @cached_property
    def _frameworks_by_word(self) -> dict[str, Framework]:
        return {
            _plain_word(word): framework
            for framework in reversed(self.frameworks)
            for word in (
                *framework.packages,
                framework.import_name,
                *framework.aliases,
                framework.title,
                framework.name,
            )
        }

    def framework(self, name_or_alias: str) -> Framework | None:
        """The framework of this name, alias, package or import name, in any case; None when it is not known."""
        known = self._frameworks_by_word
        return known.get(name_or_alias) or known.get(_plain_word(name_or_alias))

    def builds(self, framework_name: str) -> tuple[FrameworkBuild, ...]:
        """The builds of the framework of this name, oldest first; of one version the latest upload (.post1) first.

        Raises DataError for a name without a table.
        """
        return self._read(FrameworkBuild, framework_name)

    @cached_property
    def package_requirements(self) -> tuple[PackageRequirements, ...]:
        """What the packages of builds require of the CUDA libraries' packages; one without a row is unknown."""
        return self._read(PackageRequirements)

    @cached_property
    def package_files(self) -> tuple[PackageFile, ...]:
        """The files that several packages of CUDA libraries write."""
        return self._read(PackageFile)

    @cached_property
    def operating_systems(self) -> tuple[OperatingSystem, ...]:
        """Every distribution release."""
        return self._read(OperatingSystem)

    @cached_property
    def _operating_systems_by_id(self) -> dict[str, OperatingSystem]:
        return {row.os_id: row for row in self.operating_systems}

    def operating_system(self, os_id: str) -> OperatingSystem | None:
        """The release of this id; `rhel9.4` is found as `rhel9`, for releases whose minors are one platform."""
        exact = self._operating_systems_by_id.get(os_id)
        return exact or self._operating_systems_by_id.get(os_id.partition(".")[0])

    @cached_property
    def python_sources(self) -> tuple[PythonSource, ...]:
        """Every way to get a Python: from the packages of a distribution, then from elsewhere."""
        return (*system_pythons(self.operating_systems), *self._read(PythonSource))

    @cached_property
    def table_status(self) -> tuple[TableStatus, ...]:
        """When each table was last compared with its sources: the general ones, then the builds of each framework."""
        builds = (TableStatus(row.name, row.checked, row.limit_days) for row in self.frameworks)
        return (*self._read(TableStatus), *builds)

    @cached_property
    def data_date(self) -> str:
        """The day on which a table was last compared with its sources, `2026-11-21`: the version of the data."""
        return max(status.checked for status in self.table_status)


def _plain_name(name: str) -> str:
    return " ".join(name.lower().split()).removeprefix(_VENDOR_PREFIX)


def _plain_word(word: str) -> str:
    return word.lower().replace("_", "-").replace(" ", "-")
