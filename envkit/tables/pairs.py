"""Packages that fit each other in certain versions only, as their own metadata says."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version
from envkit.tables.loader import table


@table("conda_builds.csv", "framework", "version", "cuda")
@record
class CondaBuild:
    """What conda installs one build of a framework by, from the channels of its project."""

    framework: str
    version: Version
    cuda: Version
    requirements: tuple[str, ...]  # pytorch==1.7.1, cudatoolkit=11.0
    channels: tuple[str, ...]
    sources: tuple[str, ...]


@table("conda_companions.csv", "package", "version", "channel", "cuda")
@record
class CondaCompanion:
    """A release of a package with GPU code of its own that a channel of conda has for a CUDA, on Linux x86_64."""

    package: str
    version: Version
    channel: str
    cuda: Version
    pythons: tuple[Version, ...]
    sources: tuple[str, ...]


@table("conda_code.csv", "framework", "cuda")
@record
class CondaCode:
    """What conda-forge compiles a framework for, which is not what the project's own wheels are."""

    framework: str
    cuda: Version
    first: Version  # release of the framework that it is certainly compiled for
    last: Version | None  # and the last; None: also the newest
    sass: tuple[ComputeCapability, ...]
    ptx: tuple[ComputeCapability, ...]
    sources: tuple[str, ...]


@table("package_pairs.csv", "package", "version")
@record
class PackagePair:
    """What one release requires of the packages that depend on the GPU; () is certainly nothing."""

    package: str
    version: str  # as the index writes it: 0.0.28.post3
    requires: tuple[str, ...] | None  # torch==2.5.1
    sources: tuple[str, ...]


@table("package_extras.csv", "package", "version")
@record
class PackageExtra:
    """What one release requires next to its own requirements where one of these extras is asked for."""

    package: str
    version: str
    extras: tuple[str, ...]
    requires: tuple[str, ...]
    sources: tuple[str, ...]


@table("package_needs.csv", "package", "first", "requires", "marker")
@record
class PackageNeed:
    """What releases of a package require of a package that no other table of requirements has, by their metadata."""

    package: str
    first: str  # release, as the index writes it: 2.15.0.post1
    last: str  # each one between the two requires the same
    requires: str  # protobuf>=3.20.3,<5.0.0
    marker: str  # the environments and extras that it is for, '' for all
    sources: tuple[str, ...]


@table("companion_builds.csv", "package", "versions")
@record
class CompanionBuilds:
    """What the packages of releases of a companion are made for, whatever the framework next to it is."""

    package: str
    versions: str  # <0.43
    platforms: tuple[str, ...]  # linux, windows
    architectures: tuple[str, ...]  # x86_64; none: not known
    torch_index: bool  # PyTorch's own index has it for each CUDA; otherwise it is made for the default index's torch
    other_cudas: tuple[Version, ...]  # CUDAs whose torch does as well, though the default index has another
    min_glibc: Version | None  # that the Linux wheels of the default index ask for; None: not known
    sources: tuple[str, ...]


@table("companion_gpus.csv", "package", "versions")
@record
class CompanionGpus:
    """The oldest GPUs that releases of a package run on, whatever the framework next to it does."""

    package: str
    versions: str  # >=0.21
    min_compute_capability: ComputeCapability
    sources: tuple[str, ...]


@table("package_wheels.csv", "package", "versions")
@record
class PackageWheels:
    """What the default index holds of releases of a package next to a framework: wheels, or sources alone."""

    package: str
    versions: str  # >=0.21,<=0.23
    wheels: tuple[str, ...] | None  # by place: linux 3.9 3.10; linux-aarch64 3.8+; windows *
    source: bool  # pip compiles it where no wheel is for the target
    requires_python: str  # what the release allows, '' for every one
    sources: tuple[str, ...]


@table("prebuilt_wheels.csv", "package", "version", "torch", "cuda", "places")
@record
class PrebuiltWheels:
    """The wheels of a release that its project has outside the index, made for one PyTorch and CUDA."""

    package: str
    version: str  # as the project writes it: 2.7.4.post1
    torch: Version  # 2.8
    cuda: Version  # 12 for all of CUDA 12
    places: tuple[str, ...]  # linux, linux-aarch64, windows
    pythons: tuple[Version, ...]  # none: not known
    install: str  # what pip is told; {cp} and {python} stand for a Python as cp312 and as 312
    min_glibc: Version | None  # that they ask for; None: not known
    forced_by: str  # the variable by which its setup compiles where it would fetch such a wheel
    sources: tuple[str, ...]


@table("complete_lists.csv", "package")
@record
class CompleteLists:
    """A package whose lists of wheels are on record with everything that they have of some of its releases."""

    package: str
    versions: str  # >=2.0.0
    sources: tuple[str, ...]


@table("package_indexes.csv", "package", "cuda")
@record
class PackageIndex:
    """The index on which a project has its package for another CUDA than on PyPI."""

    package: str
    cuda: Version
    index_url: str
    sources: tuple[str, ...]


@table("rocm_indexes.csv", "torch")
@record
class RocmIndex:
    """The index of the builds for AMD's ROCm that a release line of PyTorch has, those for its newest ROCm."""

    torch: Version
    index_url: str
    sources: tuple[str, ...]


@table("package_breaks.csv", "package", "versions", "beside")
@record
class PackageBreak:
    """Releases that do not work next to something, though their metadata allow it."""

    package: str
    versions: str  # <0.43.2
    beside: str | None  # torch>=2.1, python>=3.12, cuda>=12.4: the CUDA of the framework's build; blank: always
    because: str  # what happens
    instead: str  # what helps
    sources: tuple[str, ...]


@table("misleading_packages.csv", "package")
@record
class MisleadingPackage:
    """A name that the default index does not have, or has as something else than people mean by it."""

    package: str
    because: str
    instead: str
    sources: tuple[str, ...]


@table("package_ends.csv", "package")
@record
class PackageEnd:
    """A name that gets no more releases."""

    package: str
    last: Version  # release line
    because: str
    instead: str
    sources: tuple[str, ...]


@table("shared_folders.csv", "module")
@record
class SharedFolder:
    """Packages that all install the same `module`, so that one environment holds one of them."""

    module: str
    packages: tuple[str, ...]
    impact: str
    keep: str
    sources: tuple[str, ...]
