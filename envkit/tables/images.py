"""What images are made of next to the versions: package names, tools, smoke tests and source builds, as tables."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.tables.loader import read, table
from envkit.tables.rows import FrameworkBuild, OperatingSystem


@table("image/wheel_abi.csv", "python")
@record
class WheelTag:
    """The interpreter and ABI part of a wheel's name."""

    python: Version
    tag: str
    sources: tuple[str, ...]


@table("image/wheel_files.csv", "framework", "page", "distribution")
@record
class WheelFile:
    """A distribution whose files are next to a framework's `page`, under versions that the default index has too."""

    framework: str
    page: str
    distribution: str
    versions: str
    sources: tuple[str, ...]


@table("image/missing_companions.csv", "framework", "version")
@record
class MissingCompanions:
    """Pythons that a build on the default index has a wheel for, and its companions have none."""

    framework: str
    version: Version
    pythons: tuple[Version, ...]
    sources: tuple[str, ...]


@table("image/packages.csv", "purpose", "package_manager", "os_ids")
@record
class PackageSet:
    """The distribution packages that serve a purpose; `os_ids` empty: every system with that package manager."""

    purpose: str
    package_manager: str
    os_ids: tuple[str, ...]
    packages: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/jupyterlab.csv", "python")
@record
class JupyterRelease:
    """The newest JupyterLab that runs on a Python version, and on later ones up to the next row."""

    python: Version
    version: Version
    sources: tuple[str, ...]


@table("image/tag_cudnn.csv", "word")
@record
class TagWord:
    """The cuDNN major that a word in an image tag stands for."""

    word: str
    major: int
    sources: tuple[str, ...]


@table("image/frontend.csv", "name")
@record
class Frontend:
    """The image that reads Dockerfiles, named in their first line."""

    name: str
    image: str
    sources: tuple[str, ...]


@table("image/needs.csv", "framework", "cuda", "versions")
@record
class Need:
    """What a framework's build needs next to CUDA: `packages` are purposes, `driver`: its import loads libcuda.

    `loader` is the call that finds the libraries of its CUDA packages where the loader was not told about them; None
    for a framework that finds them itself. `headers`: it compiles its kernels with those of CUDA while it runs.
    """

    framework: str
    cuda: str | None
    versions: str
    packages: tuple[str, ...]
    pip: tuple[str, ...]
    driver: bool
    loader: str | None
    headers: bool
    sources: tuple[str, ...]


@table("image/smoke_tests.csv", "framework")
@record
class SmokeTest:
    """How to see that a framework works: `m` is the imported module; `gpu_code` only where a GPU is.

    `command` is in place of the import for a server that is no Python package.
    """

    framework: str
    code: str | None
    gpu_code: str | None
    command: str | None
    companions: tuple[str, ...]  # packages whose import is tested where the plan installs them
    sources: tuple[str, ...]


@table("image/source_builds.csv", "framework", "cuda", "order")
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


@table("image/extension_builds.csv", "package")
@record
class ExtensionBuild:
    """A package that is compiled against a framework and CUDA, for want of a wheel that fits.

    `index`: the default index has it; otherwise the name there is another project's, or nobody's. `oldest`: the first
    GPUs that it has code for. `variables` are NAME=VALUE of its build, with {families} for the generations of the GPUs
    (8.9 is of 80). `tools` are what its build imports next to the framework. `module` shows by its import that it
    works.
    """

    package: str
    framework: str
    index: bool
    wheels: tuple[str, ...]  # architectures that the index has wheels for
    oldest: ComputeCapability | None
    variables: tuple[str, ...]
    tools: tuple[str, ...]
    module: str | None
    sources: tuple[str, ...]


@table("image/repairs.csv", "os_id")
@record
class Repair:
    """The command that makes an ended distribution's image find its packages again."""

    os_id: str
    command: str
    sources: tuple[str, ...]


@table("image/repositories.csv", "name")
@record
class Repository:
    """A package repository next to the distribution's own, with the key that signs it."""

    name: str
    key_url: str
    archive_url: str
    sources: tuple[str, ...]


@table("image/official.csv", "framework", "versions")
@record
class OfficialName:
    """How a project names the images of these versions; the name is filled in with version, cuda and cudnn."""

    framework: str
    versions: str | None
    repository: str
    tag: str
    sources: tuple[str, ...]


@table("image/backends.csv", "framework", "versions", "backend")
@record
class Backend:
    """The framework that another one computes with, for a range of its versions."""

    framework: str
    versions: str
    backend: str
    backend_versions: str
    sources: tuple[str, ...]


@table("image/foreign_systems.csv", "word")
@record
class ForeignSystem:
    """A word in an image's name for a system that no recipe can start from, and why; `libc`: musl, or not known."""

    word: str
    title: str
    reason: str
    libc: str
    sources: tuple[str, ...]


@table("image/cpu_packages.csv", "package", "platform", "architecture", "versions", platform=("linux", "windows", ""))
@record
class CpuPackage:
    """A CPU-only package on the default index: everywhere, or in some versions on one platform."""

    package: str
    platform: str  # '': every one
    architecture: str  # aarch64; '': every one
    versions: str  # >=2.11; '': all
    sources: tuple[str, ...]


@table("cuda_ends.csv", "os_id")
@record
class CudaEnd:
    """The last CUDA line whose installation guide names a system that those of later lines leave out."""

    os_id: str
    last_cuda: Version
    sources: tuple[str, ...]


@table("image/geforce_branches.csv", "cuda")
@record
class GeforceBranches:
    """The older driver branches that an image of nvidia/cuda admits with a GeForce or TITAN (NVIDIA_REQUIRE_CUDA)."""

    cuda: Version
    branches: tuple[str, ...] | None
    sources: tuple[str, ...]


@table("image/system_users.csv", "name")
@record
class SystemUser:
    """The name of a user that distributions make themselves, with an id that is not 1000."""

    name: str
    sources: tuple[str, ...]


@table("image/build_errors.csv", "pattern")
@record
class BuildError:
    """A message of docker or of a tool inside a build: what it means and what to do; earlier rows win."""

    pattern: str
    message: str
    hint: str
    sources: tuple[str, ...]


@table("image/numpy_python.csv", "numpy")
@record
class NumpyFloor:
    """The oldest Python that a NumPy release runs on."""

    numpy: Version
    python: Version
    sources: tuple[str, ...]


def packages(purpose: str, system: OperatingSystem, **names: str) -> tuple[str, ...]:
    """The packages for a purpose on that distribution, `{version}` and the like filled in; () where none is needed."""
    rows = [row for row in read(PackageSet) if (row.purpose, row.package_manager) == (purpose, system.package_manager)]
    exact = [row for row in rows if system.os_id in row.os_ids]
    chosen = (exact or [row for row in rows if not row.os_ids])[:1]
    return tuple(package.format(**names) for row in chosen for package in row.packages)


def jupyterlab(python: Version | None) -> str | None:
    """The JupyterLab requirement for that Python (the newest when None); None where no release runs on it."""
    rows = [row for row in read(JupyterRelease) if python is None or row.python <= python]
    return f"jupyterlab=={rows[-1].version}" if rows else None


def tag_cudnn(word: str) -> int | None:
    """The cuDNN major that a tag's `cudnn…` word promises; None for no word or an unknown one."""
    return next((row.major for row in read(TagWord) if row.word == word), None)


def system_user(name: str) -> bool:
    """True for a user that a distribution makes itself, such as root."""
    return any(row.name == name for row in read(SystemUser))


def frontend() -> str:
    """The image of the Dockerfile frontend."""
    return read(Frontend)[0].image


def need(build: FrameworkBuild) -> Need | None:
    """What that build needs next to CUDA, or None."""
    rows = [row for row in read(Need) if row.framework == build.framework and _is_for(row, build)]
    return max(rows, key=lambda row: (bool(row.versions), bool(row.cuda)), default=None)


def _is_for(row: Need, build: FrameworkBuild) -> bool:
    if row.cuda and not (build.cuda and VersionSpec.parse(row.cuda).holds(build.cuda)):
        return False
    return not row.versions or VersionSpec.parse(row.versions).holds(build.version)


def smoke_test(framework: str) -> SmokeTest | None:
    """The smoke test of a framework where it differs from a plain import."""
    return next((row for row in read(SmokeTest) if row.framework == framework), None)


def source_steps(build: FrameworkBuild) -> tuple[SourceStep, ...]:
    """The steps that build it from source, in order; () when there is no recipe for it."""
    rows = [row for row in read(SourceStep) if row.framework == build.framework]
    return tuple(
        sorted(
            (row for row in rows if not row.cuda or (build.cuda and VersionSpec.parse(row.cuda).holds(build.cuda))),
            key=lambda row: row.order,
        )
    )


def extension_build(package: str) -> ExtensionBuild | None:
    """How the package of that normalized name is compiled, or None."""
    return next((row for row in read(ExtensionBuild) if row.package == package), None)


def repair(os_id: str) -> str | None:
    """The command that provides an ended distribution's package archive back, or None."""
    return next((row.command for row in read(Repair) if row.os_id == os_id), None)


def repository(name: str) -> tuple[str, str]:
    """The address of a repository's key and of its archive. Raises LookupError for an unknown name."""
    return next((row.key_url, row.archive_url) for row in read(Repository) if row.name == name)


def backend(build: FrameworkBuild) -> Backend | None:
    """The framework that this build computes with, or None for one that stands alone."""
    rows = [row for row in read(Backend) if row.framework == build.framework]
    return next((row for row in rows if VersionSpec.parse(row.versions).holds(build.version)), None)


def official_name(build: FrameworkBuild) -> OfficialName | None:
    """How the project names its image of that version, or None."""
    rows = [row for row in read(OfficialName) if row.framework == build.framework]
    return next((row for row in rows if not row.versions or VersionSpec.parse(row.versions).holds(build.version)), None)


def numpy_needs_python(numpy: Version) -> Version | None:
    """The oldest Python for that NumPy release, None where it is not known to envkit."""
    return next((row.python for row in read(NumpyFloor) if row.numpy == numpy), None)
