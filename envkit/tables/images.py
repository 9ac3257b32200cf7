"""What images are made of beside the versions: package names, tools, smoke tests and source builds, as tables."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from envkit._startup.records import record
from envkit.base.versions import Version, VersionSpec
from envkit.tables.loader import Table, read
from envkit.tables.rows import FrameworkBuild, OperatingSystem, Source

Row = TypeVar("Row")


@record
class WheelTag:
    """The interpreter and ABI part of a wheel's name."""

    python: Version
    tag: str
    sources: tuple[str, ...]


@record
class WheelFile:
    """A distribution whose files stand beside a framework's `page`, under versions that the default index has too."""

    framework: str
    page: str
    distribution: str
    versions: str
    sources: tuple[str, ...]


WHEEL_TAGS = Table("image/wheel_abi.csv", WheelTag, ("python",))
WHEEL_FILES = Table("image/wheel_files.csv", WheelFile, ("framework", "page", "distribution"))


@record
class PackageSet:
    """The distribution packages that serve a purpose; `os_ids` empty: every system with that package manager."""

    purpose: str
    package_manager: str
    os_ids: tuple[str, ...]
    packages: tuple[str, ...]
    sources: tuple[str, ...]


@record
class JupyterRelease:
    """The newest JupyterLab that runs on a Python version, and on later ones up to the next row."""

    python: Version
    version: Version
    sources: tuple[str, ...]


@record
class TagWord:
    """The cuDNN major that a word in an image tag stands for."""

    word: str
    major: int
    sources: tuple[str, ...]


@record
class Frontend:
    """The image that reads Dockerfiles, named in their first line."""

    name: str
    image: str
    sources: tuple[str, ...]


@record
class Need:
    """What a framework's build needs beside CUDA: `packages` are purposes, `driver`: its import loads libcuda.

    `loader` is the call that finds the libraries of its CUDA packages where the loader was not told of them; None for
    a framework that finds them itself. `headers`: it compiles its kernels with those of CUDA while it runs.
    """

    framework: str
    cuda: str | None
    packages: tuple[str, ...]
    pip: tuple[str, ...]
    driver: bool
    loader: str | None
    headers: bool
    sources: tuple[str, ...]


@record
class SmokeTest:
    """How to see that a framework works: `m` is the imported module; `gpu_code` only where a GPU is.

    `command` stands in place of the import for a server that is no Python package.
    """

    framework: str
    code: str | None
    gpu_code: str | None
    command: str | None
    sources: tuple[str, ...]


@record
class SourceStep:
    """One step of a source build. `kind`: packages, archive, git, run, copy, runtime, environment, smoke, python.

    `value` may name {python} (python or python3), {python_major} and {cuda_flags}. A framework without a row of kind
    python has no use for one.
    """

    framework: str
    cuda: str | None
    order: int
    kind: str
    value: str
    sources: tuple[str, ...]


@record
class Repair:
    """The command that makes an ended distribution's image find its packages again."""

    os_id: str
    command: str
    sources: tuple[str, ...]


@record
class Repository:
    """A package repository beside the distribution's own, with the key that signs it."""

    name: str
    key_url: str
    archive_url: str
    sources: tuple[str, ...]


@record
class OfficialName:
    """How a project names the images of these versions; the name is filled in with version, cuda and cudnn."""

    framework: str
    versions: str | None
    repository: str
    tag: str
    sources: tuple[str, ...]


@record
class Backend:
    """The framework that another one computes with, for a range of its versions."""

    framework: str
    versions: str
    backend: str
    backend_versions: str
    sources: tuple[str, ...]


@record
class SystemName:
    """A release's code name, as tags of its images have it."""

    word: str
    os_id: str
    sources: tuple[str, ...]


@record
class ForeignSystem:
    """A word in an image's name for a system that no recipe can start from, and why; `libc`: musl, or not known."""

    word: str
    title: str
    reason: str
    libc: str
    sources: tuple[str, ...]


@record
class CpuPackage:
    """A package of a framework that its project builds for the CPU alone, beside one for GPUs of another name."""

    package: str
    sources: tuple[str, ...]


@record
class GeforceBranches:
    """The older driver branches that an image of nvidia/cuda admits with a GeForce or TITAN (NVIDIA_REQUIRE_CUDA)."""

    cuda: Version
    branches: tuple[str, ...] | None
    sources: tuple[str, ...]


@record
class SystemUser:
    """The name of a user that distributions make themselves, with an id that is not 1000."""

    name: str
    sources: tuple[str, ...]


@record
class BuildError:
    """A message of docker or of a tool inside a build: what it means and what to do; earlier rows win."""

    pattern: str
    message: str
    hint: str
    sources: tuple[str, ...]


@record
class NumpyFloor:
    """The oldest Python that a NumPy release runs on."""

    numpy: Version
    python: Version
    sources: tuple[str, ...]


_TABLES: dict[str, Table[Any]] = {
    "packages": Table("image/packages.csv", PackageSet, ("purpose", "package_manager", "os_ids")),
    "jupyterlab": Table("image/jupyterlab.csv", JupyterRelease, ("python",)),
    "tag_cudnn": Table("image/tag_cudnn.csv", TagWord, ("word",)),
    "frontend": Table("image/frontend.csv", Frontend, ("name",)),
    "repositories": Table("image/repositories.csv", Repository, ("name",)),
    "official": Table("image/official.csv", OfficialName, ("framework", "versions")),
    "backends": Table("image/backends.csv", Backend, ("framework", "versions")),
    "wheel_abi": WHEEL_TAGS,
    "wheel_files": WHEEL_FILES,
    "system_names": Table("image/system_names.csv", SystemName, ("word",)),
    "foreign_systems": Table("image/foreign_systems.csv", ForeignSystem, ("word",)),
    "cpu_packages": Table("image/cpu_packages.csv", CpuPackage, ("package",)),
    "geforce_branches": Table("image/geforce_branches.csv", GeforceBranches, ("cuda",)),
    "system_users": Table("image/system_users.csv", SystemUser, ("name",)),
    "build_errors": Table("image/build_errors.csv", BuildError, ("pattern",)),
    "numpy_python": Table("image/numpy_python.csv", NumpyFloor, ("numpy",)),
    "sources": Table("image/sources.csv", Source, ("key",)),
    "needs": Table("image/needs.csv", Need, ("framework", "cuda")),
    "smoke_tests": Table("image/smoke_tests.csv", SmokeTest, ("framework",)),
    "source_builds": Table("image/source_builds.csv", SourceStep, ("framework", "cuda", "order")),
    "repairs": Table("image/repairs.csv", Repair, ("os_id",)),
}


@cache
def table(name: str) -> tuple[Any, ...]:
    """Every row of one of this module's tables. Raises DataError when it cannot be trusted."""
    return read(_TABLES[name])


def packages(purpose: str, system: OperatingSystem, **names: str) -> tuple[str, ...]:
    """The packages for a purpose on that distribution, `{version}` and the like filled in; () where none is needed."""
    rows: list[PackageSet] = [
        row for row in table("packages") if (row.purpose, row.package_manager) == (purpose, system.package_manager)
    ]
    exact = [row for row in rows if system.os_id in row.os_ids]
    chosen = (exact or [row for row in rows if not row.os_ids])[:1]
    return tuple(package.format(**names) for row in chosen for package in row.packages)


def jupyterlab(python: Version | None) -> str | None:
    """The JupyterLab requirement for that Python (the newest when None); None where no release runs on it."""
    rows: list[JupyterRelease] = [row for row in table("jupyterlab") if python is None or row.python <= python]
    return f"jupyterlab=={rows[-1].version}" if rows else None


def tag_cudnn(word: str) -> int | None:
    """The cuDNN major that a tag's `cudnn…` word promises; None for no word or an unknown one."""
    return next((row.major for row in table("tag_cudnn") if row.word == word), None)


def system_user(name: str) -> bool:
    """True for a user that a distribution makes itself, such as root."""
    return any(row.name == name for row in table("system_users"))


def frontend() -> str:
    """The image of the Dockerfile frontend."""
    image: str = table("frontend")[0].image
    return image


def need(build: FrameworkBuild) -> Need | None:
    """What that build needs beside CUDA, or None."""
    rows: list[Need] = [row for row in table("needs") if row.framework == build.framework]
    narrow = [row for row in rows if row.cuda and build.cuda and VersionSpec.parse(row.cuda).holds(build.cuda)]
    return next(iter(narrow or [row for row in rows if not row.cuda]), None)


def smoke_test(framework: str) -> SmokeTest | None:
    """The smoke test of a framework where it differs from a plain import."""
    return next((row for row in table("smoke_tests") if row.framework == framework), None)


def source_steps(build: FrameworkBuild) -> tuple[SourceStep, ...]:
    """The steps that build it from source, in order; () when there is no recipe for it."""
    rows: list[SourceStep] = [row for row in table("source_builds") if row.framework == build.framework]
    return tuple(
        sorted(
            (row for row in rows if not row.cuda or (build.cuda and VersionSpec.parse(row.cuda).holds(build.cuda))),
            key=lambda row: row.order,
        )
    )


def repair(os_id: str) -> str | None:
    """The command that brings an ended distribution's package archive back, or None."""
    return next((row.command for row in table("repairs") if row.os_id == os_id), None)


def repository(name: str) -> tuple[str, str]:
    """The address of a repository's key and of its archive. Raises LookupError for an unknown name."""
    return next((row.key_url, row.archive_url) for row in table("repositories") if row.name == name)


def backend(build: FrameworkBuild) -> Backend | None:
    """The framework that this build computes with, or None for one that stands alone."""
    rows: list[Backend] = [row for row in table("backends") if row.framework == build.framework]
    return next((row for row in rows if VersionSpec.parse(row.versions).holds(build.version)), None)


def official_name(build: FrameworkBuild) -> OfficialName | None:
    """How the project names its image of that version, or None."""
    rows: list[OfficialName] = [row for row in table("official") if row.framework == build.framework]
    return next((row for row in rows if not row.versions or VersionSpec.parse(row.versions).holds(build.version)), None)


def numpy_needs_python(numpy: Version) -> Version | None:
    """The oldest Python for that NumPy release, None where it is not on record."""
    return next((row.python for row in table("numpy_python") if row.numpy == numpy), None)
