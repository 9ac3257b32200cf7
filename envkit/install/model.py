"""What an installation does, step by step, as plain typed data; `envkit.render.script` writes it as bash."""

from __future__ import annotations

import re
from typing import NoReturn

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.solver.model import Plan
from envkit.tables.rows import OperatingSystem, Toolkit


@record
class Download:
    """A file to fetch. `algorithm` is sha256, md5, or none: then the archive's own check has to serve."""

    name: str
    url: str
    algorithm: str
    checksum: str


@record
class Need:
    """A package that must be there: bash `test`, and the package names of each package manager."""

    purpose: str
    why: str
    test: str
    packages: tuple[tuple[str, tuple[str, ...]], ...]


@record
class InstallPrerequisites:
    """The distribution's packages that the other steps call."""

    needs: tuple[Need, ...]


@record
class SwitchOffNouveau:
    """The free driver is kept from loading; needs a reboot where it is loaded."""


@record
class AddRepository:
    """NVIDIA's package repository. `file`: the package that brings its list and its key."""

    file: Download
    folder: str  # the address in that list
    mirror: str  # the address to use instead; '' for none

    @property
    def package(self) -> str:
        """The name of that package."""
        return self.file.name.partition("_")[0]


@record
class FetchFile:
    """One download; not needed when the step `needed_by` is done."""

    download: Download
    needed_by: str


@record
class DriverPackage:
    """A driver of the distribution: the package that is judged, what goes with it, and the branches that may be taken.

    `stream`: the stream of the module nvidia-driver that it is in. `{version}` stands for the first package's version.
    """

    names: tuple[str, ...]
    stream: str
    first_branch: int | None
    last_branch: int | None  # None: no later one is known to be unfit
    origin: str = ""  # nvidia: only NVIDIA's own repository has it


@record
class InstallDriver:
    """The NVIDIA driver: the first package on offer that fits plan and GPUs, otherwise a runfile."""

    minimum: Version
    last_branch: int | None  # the last one for every GPU of the plan; None while no branch has dropped one
    packages: tuple[DriverPackage, ...]
    others: tuple[DriverPackage, ...]  # fit as well; taken only where somebody has chosen them already
    headers: tuple[str, ...]
    file: Download | None  # runfile to use when no package will do
    chosen_path: str | None  # driver runfile on the target's own disk
    chosen: str  # --driver-runfile, as a path or the name of the fetched file; '' when packages come first
    runfile_options: tuple[str, ...]
    no_opengl_option: str
    kernel_source_option: str
    dkms_option: str  # has the kernel's updates build the module; '' where the installer has no such option
    older: tuple[
        tuple[int, Version], ...
    ]  # too old for the plan: branch, and the CUDA release that it and the GPUs run

    @property
    def has_apt_headers(self) -> bool:
        """Whether the kernel's headers come as Debian and Ubuntu name them."""
        return any(name.startswith("linux-headers") for name in self.headers)


@record
class ToolkitPart:
    """One part of a toolkit: its entry in NVIDIA's list of archives, and paths that show that it is there."""

    name: str
    entry: str
    proof: tuple[str, ...]
    bytes: int  # of its archive, at most
    asked: bool  # else another part needs it


@record
class FetchParts:
    """The archives of these parts, each with the checksum that the list has for it."""

    list_file: Download
    folder: str  # the address that the paths in the list start from
    platform: str  # as the list calls it
    parts: tuple[ToolkitPart, ...]

    @property
    def names(self) -> str:
        """The parts in words."""
        return ", ".join(part.name for part in self.parts)


@record
class InstallToolkit:
    """The toolkit from its runfile, the driver inside left alone; or only some parts of it, from their archives."""

    toolkit: Toolkit
    path: str
    file: Download  # the runfile, or the list of the archives
    options: tuple[str, ...]
    perl_library: bool
    architecture: str
    parts: tuple[ToolkitPart, ...] = ()  # none: the whole toolkit

    @property
    def words(self) -> str:
        """What tells it from other toolkits in one folder: its release, and the parts that it consists of."""
        return " ".join([str(self.toolkit.version), *(part.name for part in self.parts)])

    @property
    def told(self) -> str:
        """The same for people."""
        names = ", ".join(part.name for part in self.parts)
        return f"{self.toolkit.version}, only {names}" if names else str(self.toolkit.version)

    @property
    def has_compiler(self) -> bool:
        """Whether nvcc is among its parts."""
        return self._has("nvcc")

    @property
    def has_runtime(self) -> bool:
        """Whether the runtime is among its parts."""
        return self._has("cudart")

    def _has(self, name: str) -> bool:
        return not self.parts or any(part.name == name for part in self.parts)

    @property
    def release(self) -> Version:
        """The release line, which names its folders and packages."""
        return self.toolkit.release


@record
class ApplyPatch:
    """One patch runfile."""

    order: int
    file: Download
    options: tuple[str, ...]

    @property
    def version(self) -> str:
        """What a patched toolkit's version.txt calls it: "CUDA Patch Version 9.0.176.1", as in the runfile's name."""
        return self.file.name.split("_")[1]


@record
class InstallCudnn:
    """cuDNN from its archive into the toolkit's folder."""

    version: Version
    soname: int
    file: Download

    @property
    def short(self) -> Version:
        """The version as cuDNN's header has it: without the number of the build."""
        return self.version.release(3) if len(self.version.parts) >= 3 else self.version


@record
class LinkToolkit:
    """`/usr/local/cuda`, when it is absent or run by update-alternatives."""

    priority: int


@record
class SetEnvironment:
    """Shell profile and loader path."""


@record
class CreatePython:
    """An environment with its own interpreter. `way`: system, standalone, conda."""

    version: Version
    way: str
    path: str
    file: Download | None
    channel: str

    @property
    def isolation(self) -> tuple[str, ...]:
        """The options that keep the settings of the shell and the user's own packages away from it."""
        return ("-I",) if self.version.major > 2 else ("-E", "-s")


@record
class InstallFramework:
    """One framework into the environment."""

    name: str
    title: str
    import_name: str
    version: Version
    requirements: tuple[str, ...]
    source: tuple[str, ...]  # pip's own words on where to look
    pip_source: tuple[str, ...]  # the same for pip itself
    distribution: str
    distribution_version: str
    cuda: Version | None  # what the build is for; None for a build without CUDA
    expects_gpu: bool
    probe: str
    pip_requirement: str
    advice: str = ""  # what programs must do next to importing it

    @property
    def identifier(self) -> str:
        """The name as part of a function's name."""
        return re.sub(r"\W", "_", self.name)

    @property
    def plain_version(self) -> str:
        """The distribution's version without the mark of its build."""
        return self.distribution_version.partition("+")[0]

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions that its requirements name."""
        return tuple(normalized(re.split(r"[^\w.-]", line)[0]) for line in self.requirements)

    @property
    def expectation(self) -> str:
        """What the verification expects of it: that it computes on a GPU, or anything."""
        return "gpu" if self.expects_gpu else "any"


@record
class WriteModule:
    """A module file for Environment Modules and Lmod. `part`: toolkit, environment; its path's end is its name."""

    part: str
    path: str
    title: str
    lines: tuple[str, ...]


@record
class Verify:
    """Compile, resolve, import; with a GPU also a kernel and a convolution."""

    targets: tuple[str, ...]
    gcc_min: Version | None
    gcc_max: Version | None

    @property
    def compilers(self) -> tuple[str, ...]:
        """The programs to look for, newest first."""
        low, high = (self.gcc_min.major if self.gcc_min else 4), (self.gcc_max.major if self.gcc_max else 0)
        return tuple(f"g++-{major}" for major in range(high, low - 1, -1))


Step = (
    InstallPrerequisites
    | SwitchOffNouveau
    | AddRepository
    | FetchFile
    | FetchParts
    | InstallDriver
    | InstallToolkit
    | ApplyPatch
    | InstallCudnn
    | LinkToolkit
    | SetEnvironment
    | CreatePython
    | InstallFramework
    | WriteModule
    | Verify
)


@record
class Installation:
    """All steps in order, and the plan that they carry out."""

    plan: Plan
    plan_id: str
    architecture: str
    os: OperatingSystem | None
    os_name: tuple[str, str] | None  # ID and VERSION_ID of os-release
    steps: tuple[Step, ...]
    notes: tuple[str, ...]

    @property
    def downloads(self) -> tuple[Download, ...]:
        """Every file that is fetched, in the order of use."""
        return tuple(step.download for step in self.steps if isinstance(step, FetchFile))

    @property
    def may_reboot(self) -> bool:
        """Whether the script can ask for a reboot: only drivers need one."""
        return any(isinstance(step, InstallDriver) for step in self.steps)

    @property
    def part_lists(self) -> tuple[Download, ...]:
        """The lists that name further files, with their checksums."""
        return tuple(step.list_file for step in self.steps if isinstance(step, FetchParts))

    @property
    def unverified(self) -> tuple[Download, ...]:
        """The files whose checksum nobody has published."""
        return tuple(download for download in self.downloads if not download.checksum)


def never(step: NoReturn) -> NoReturn:
    """The end of a match over all steps: mypy finds a step without a case."""
    raise AssertionError(step)
