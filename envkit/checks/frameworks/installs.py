"""Installed frameworks as checks see them: which environments count, and which build an installation is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.command import PYTHON, Command, Word, run
from envkit.checks.engine.evidence import SHOWS_NO, silent
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, skip, unknown
from envkit.checks.engine.messages import only_shown
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus
from envkit.checks.nvidia_driver.driver_state import cuda_works
from envkit.model import Distribution, Environment, FrameworkInstall, MachineKind, Problem, PythonEnvironment
from envkit.model.observed import is_told

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

TORCH_PACKAGES = ("torch", "torchvision", "torchaudio")  # torch first; of one release, installed and removed together


@record
class Installed:
    """One framework in one Python environment."""

    python: PythonEnvironment
    framework: FrameworkInstall

    @property
    def subject(self) -> str:
        """How reports name it: the package, and the environment when it has a place."""
        return f"{self.framework.package} in {self.python.prefix}" if self.python.prefix else self.framework.package

    def evidence(self, name: str, value: object) -> Evidence:
        """One of its facts as evidence."""
        return Evidence(f"pythons.frameworks[{self.framework.name}].{name}", str(value), self.framework.source)


def judged(environment: Environment) -> tuple[PythonEnvironment, ...]:
    """The Python environments that checks look at: the active ones, or all where none is known to be active."""
    pythons = environment.pythons.get() if environment.pythons.known else ()
    return tuple(python for python in pythons if python.active) or pythons


def first_python(environment: Environment) -> PythonEnvironment:
    """The first Python environment that checks look at; where there is none, one of which nothing is known."""
    return next(iter(judged(environment)), PythonEnvironment("", None))


def named_python(environment: Environment) -> PythonEnvironment:
    """The first of them whose executable is known, so that a command can name it; the first one where none is."""
    return next((python for python in judged(environment) if python.executable), first_python(environment))


def installs(environment: Environment, *names: str) -> Iterator[Installed]:
    """The frameworks of the judged environments, only those called `names` when any is given."""
    for python in judged(environment):
        for framework in python.frameworks:
            if not names or framework.name in names:
                yield Installed(python, framework)


def cuda_majors(python: PythonEnvironment) -> set[str]:
    """The major releases of CUDA that the environment's frameworks were built for."""
    return {str(framework.cuda.major) for framework in python.frameworks if framework.cuda is not None}


def nothing_to_judge(environment: Environment, what: str) -> Outcome:
    """The outcome where no `what` is there: skip after a look at the installed packages, unknown without one.

    A text shows some of them at best.
    """
    if environment.pasted:
        return skip(f"{SHOWS_NO}{what}", evidence=[Evidence("pythons", Problem.NOT_LOOKED.value)])
    if environment.pythons.known:
        return skip(f"no {what} is installed")
    return unknown(f"cannot tell whether any {what} is installed")


def installed_and_silent(environment: Environment, fault: Fault) -> Iterator[Outcome]:
    """The fault where a message describes it; no answer where frameworks are installed and none does."""
    if reported := fault.reported(environment):
        yield reported
    elif installed := next(installs(environment), None):
        yield silent(
            environment, "no error message points to it", installed.evidence("version", installed.framework.version)
        )


def distribution(python: PythonEnvironment, *names: str) -> Distribution | None:
    """The first installed distribution of `names`, as pip knows it."""
    for name in names:
        for candidate in python.distributions:
            if candidate.name == name and candidate.installer != "conda":
                return candidate
    return None


def distribution_evidence(item: Distribution) -> Evidence:
    """An installed distribution as evidence."""
    return Evidence("pythons.distributions", f"{item.name} {item.version}", item.path)


def release(text: str) -> Version | None:
    """The numbers of a package version: 2.6.0 of `2.6.0+cu124`."""
    return Version.find(text.partition("+")[0])


def local_tag(version: str) -> str:
    """The build tag of a package version: `cu124` of `2.6.0+cu124`, '' where it has none."""
    return version.partition("+")[2]


def gpu_present(environment: Environment) -> bool | None:
    """True when an NVIDIA GPU was seen, False after a look without one, None when nobody could look."""
    for observed in (environment.gpus, environment.pci_gpus):
        if observed.known and observed.get():
            return True
    if environment.system.machine_kind.value is MachineKind.JETSON:
        return True
    if environment.driver.cuda_device_count.known and environment.driver.cuda_device_count.get():
        return True
    if environment.driver.nvidia_smi.known and environment.driver.nvidia_smi.get().code == 0:
        return True
    looked = environment.pci_gpus.known or environment.pci_gpus.absent
    return False if looked and not _hidden_gpu(environment) else None


def idle_beside(environment: Environment, item: Installed) -> bool:
    """Whether a pasted text only lists this framework, while another one of its environment used the GPU."""
    others = (other.framework for other in installs(environment) if other.framework.name != item.framework.name)
    return only_shown(environment) and bool(cuda_works(environment)) and any(other.cuda for other in others)


def built_for_amd(environment: Environment) -> bool:
    """Whether a build for AMD GPUs is installed where no NVIDIA GPU was seen: nvcc compiles nothing there."""
    return not gpu_present(environment) and any(item.framework.rocm for item in installs(environment))


def _hidden_gpu(environment: Environment) -> bool:
    """Containers and WSL do not show on PCI what they can use."""
    return environment.system.machine_kind.value in (MachineKind.CONTAINER, MachineKind.WSL1, MachineKind.WSL2)


def capability(gpu: SeenGpu) -> ComputeCapability | None:
    """What the GPU says of itself, otherwise what its model is; None when models of several capabilities are
    possible."""
    for known in (gpu.nvml, gpu.pci):
        if known is not None and known.compute_capability is not None:
            return known.compute_capability
    possible = {model.compute_capability for model in gpu.models}
    return possible.pop() if len(possible) == 1 else None


def capable_gpus(environment: Environment, matrix: Matrix) -> tuple[tuple[SeenGpu, ComputeCapability], ...]:
    """The GPUs whose compute capability is known, each model once."""
    chosen: dict[tuple[str, ComputeCapability], tuple[SeenGpu, ComputeCapability]] = {}
    for gpu in seen_gpus(environment, matrix):
        known = capability(gpu)
        if known is not None:
            chosen.setdefault((gpu.name, known), (gpu, known))
    return tuple(chosen.values())


def all_data_center(environment: Environment, matrix: Matrix) -> bool:
    """True when every GPU is a data-center model."""
    gpus = seen_gpus(environment, matrix)
    return bool(gpus) and all(gpu.data_center for gpu in gpus)


def for_this_machine(environment: Environment, row: FrameworkBuild) -> bool:
    """True when the build is for this processor and operating system; x86-64 Linux where they are not known."""
    windows = environment.system.os.known and environment.system.os.get().id == "windows"
    architecture = environment.system.architecture.value or "x86_64"
    right_system = not row.platforms or ("windows" if windows else "linux") in row.platforms
    return right_system and (not row.architectures or architecture in row.architectures)


def build_of(environment: Environment, framework: FrameworkInstall, matrix: Matrix) -> FrameworkBuild | None:
    """The row of the tables that this installation is, None when it is none of them."""
    version = release(framework.version)
    if version is None or matrix.framework(framework.name) is None:
        return None
    same = [
        row for row in matrix.builds(framework.name) if row.version == version and for_this_machine(environment, row)
    ]
    if framework.cuda is None:
        cpu = [row for row in same if row.cpu_only]
        return cpu[0] if cpu and framework.cuda_known else (same[0] if len(same) == 1 else None)
    line = framework.cuda.release(2)
    exact = [row for row in same if row.cuda is not None and row.cuda.release(2) == line]
    return exact[0] if exact else None


def runs_on_gpus(environment: Environment, matrix: Matrix, cuda: Version) -> bool:
    """Whether a CUDA knows the GPUs; cuda-compat brings no code for one that it dropped."""
    from envkit.compat.gpu import gpu_runs_cuda

    return all(gpu_runs_cuda(own, cuda, matrix).status != "fail" for _, own in capable_gpus(environment, matrix))


def numpy_of(environment: Environment, framework: FrameworkInstall, matrix: Matrix) -> str | None:
    """The NumPy that an installation takes; of a release whose build is not known, what all of its builds take."""
    bounds = {row.numpy for row in possible_builds(environment, framework, matrix)}
    return bounds.pop() if len(bounds) == 1 else None


def possible_builds(
    environment: Environment, framework: FrameworkInstall, matrix: Matrix
) -> tuple[FrameworkBuild, ...]:
    """The build that is installed; all builds of its release if unknown; none if no row has the release."""
    row, version = build_of(environment, framework, matrix), release(framework.version)
    if row is not None:
        return (row,)
    jetson = environment.system.machine_kind.value is MachineKind.JETSON  # whose wheels are NVIDIA's own
    if version is None or jetson or matrix.framework(framework.name) is None:
        return ()
    return tuple(other for other in matrix.builds(framework.name) if other.version == version)


def variants(
    environment: Environment, matrix: Matrix, item: Installed, *, listed: bool = False
) -> list[tuple[FrameworkBuild, Installed]]:
    """The builds for CUDA that this may be, where somebody named its release and nothing more; none elsewhere.

    With `listed`, a pasted list of packages counts as such words: without a local tag it is the default index's build.
    """
    version = release(item.framework.version)
    if item.framework.cuda_known or item.framework.cuda is not None or item.framework.rocm or version is None:
        return []
    of_pip = listed and only_shown(environment) and item.framework.source.endswith("(pip)")
    if not (is_told(item.framework.source) or of_pip) or matrix.framework(item.framework.name) is None:
        return []
    return [
        (row, replace(item, framework=replace(item.framework, cuda=row.cuda)))
        for row in matrix.builds(item.framework.name)
        if row.version.starts_with(version) and row.cuda is not None and for_this_machine(environment, row)
        if not of_pip or (row.on_pypi and not row.index_url)
    ]


def as_on_pypi(environment: Environment, matrix: Matrix) -> list[Installed]:
    """The frameworks of which somebody named the release alone, as the default index has them."""
    return [
        built
        for item in installs(environment)
        for row, built in variants(environment, matrix, item)
        if row.on_pypi and not row.index_url
    ]


def pip(python: PythonEnvironment, *arguments: Word) -> Command:
    """A pip command for exactly this Python."""
    return run(PYTHON(executable_of(python)), "-m", "pip", *arguments)


def executable_of(python: PythonEnvironment) -> str:
    """The Python that a command names: of a conda environment whose place is told, the one in it, active or not."""
    if python.executable or python.kind != "conda" or not python.prefix:
        return python.executable or "python"
    return f"{python.prefix}\\python.exe" if "\\" in python.prefix else f"{python.prefix}/bin/python"


def companions_of(matrix: Matrix, version: Version) -> tuple[str, ...]:
    """torchvision and others of a release of PyTorch, as the first of its builds that has any names them."""
    return next((row.companions for row in matrix.builds("pytorch") if row.version == version and row.companions), ())
