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


@table("package_pairs.csv", "package", "version")
@record
class PackagePair:
    """What one release requires of the packages that depend on the GPU; () is certainly nothing."""

    package: str
    version: str  # as the index writes it: 0.0.28.post3
    requires: tuple[str, ...] | None  # torch==2.5.1
    sources: tuple[str, ...]


@table("companion_builds.csv", "package", "versions")
@record
class CompanionBuilds:
    """What the packages of releases of a companion are made for, whatever the framework beside it is."""

    package: str
    versions: str  # <0.43
    platforms: tuple[str, ...]  # linux, windows
    torch_index: bool  # PyTorch's own index has it for each CUDA; otherwise it is made for the default index's torch
    sources: tuple[str, ...]


@table("companion_gpus.csv", "package", "versions")
@record
class CompanionGpus:
    """The oldest GPUs that releases of a package run on, whatever the framework beside it does."""

    package: str
    versions: str  # >=0.21
    min_compute_capability: ComputeCapability
    sources: tuple[str, ...]
