"""The Python packages of a plan, with the indexes that they come from: what every list of packages is written from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.records import record
from envkit.base.errors import EnvkitError
from envkit.base.names import requirement_name
from envkit.base.sentences import series
from envkit.base.settings import Mirrors
from envkit.base.versions import Version, VersionSpec
from envkit.compat.conda import compiled_by_conda_forge
from envkit.compat.driver import driver_floors
from envkit.compat.gpu import CodeMatch, code_match, cuda_match
from envkit.compat.software import title_of
from envkit.documents.commands import beyond_packages, plan_commands
from envkit.solver.model import Plan
from envkit.solver.pip_calls import PipInstall, plan_calls
from envkit.tables import Matrix


@record
class PackageList:
    """What an environment holds. Each call of pip keeps the index that its packages are to come from."""

    title: str
    name: str  # of the environment or project, for formats that ask for one
    python: Version | None
    calls: tuple[PipInstall, ...]
    driver: Version | None = None  # the oldest that runs it
    last_branch: int | None = None  # of drivers that still supports the GPUs, where support has ended
    notes: tuple[str, ...] = ()
    architecture: str = "x86_64"
    platform: str = "linux"
    index_url: str | None = None  # a mirror of the default index
    cuda: Version | None = None
    conda_alone: tuple[str, ...] = ()  # what conda-forge has for the CUDA that was asked for, where pip has nothing
    same_index: str = ""  # of the framework's own, which has the build too that is taken from the default one
    conda_cudas: tuple[str, ...] = ()  # versions of CUDA that run on the driver and the GPUs that were asked for

    @property
    def release(self) -> str:
        """The release of Python, '' where any will do."""
        return str(self.python.release(2)) if self.python else ""

    @property
    def comments(self) -> list[str]:
        """What is above the packages, a sentence a line."""
        most = f", up to branch {self.last_branch}: newer ones do not support its GPU" if self.last_branch else ""
        driver = (f"The machine needs NVIDIA driver {self.driver} or newer{most}.",) if self.driver else ()
        lines = (f"{self.title}. Written by envkit.", *driver, *(f"Note: {note}." for note in self.notes))
        return [f"# {line}" for line in lines]

    @property
    def requirements(self) -> tuple[tuple[str, str], ...]:
        """Each requirement with the index that it has to come from, '' for the default one."""
        return tuple((line, self._index(call)) for call in self.calls for line in call.requirements)

    @property
    def index_names(self) -> dict[str, str]:
        """The indexes next to the default one, each with a name: `torch-cu124` of torch from what ends in whl/cu124."""
        found: dict[str, str] = {}
        for line, index in self.requirements:
            if index:
                found.setdefault(index, f"{requirement_name(line)}-{index.rstrip('/').rpartition('/')[2]}")
        return found

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages of files that pip looks at next to each index."""
        return tuple(dict.fromkeys(call.find_links for call in self.calls if call.find_links))

    def _index(self, call: PipInstall) -> str:
        return (call.index_url if call.index_url != self.index_url else None) or ""


def package_list(plan: Plan, mirrors: Mirrors, form: str, cuda: VersionSpec | None = None) -> PackageList:
    """The list of a plan. Raises EnvkitError for one that needs more than Python packages.

    `cuda` is what was asked for, which the plan may have read as that of the machine.
    """
    reason = beyond_packages(plan)
    if reason:
        instead = plan_commands(plan, mirrors)
        hint = f"Run: {instead[0]}" if instead else "Choose one with --framework."
        raise EnvkitError(f"--format {form}: {reason}.", hint)
    choice = plan.choice
    return PackageList(
        series(map(title_of, choice.builds)),
        "-".join(("envkit", *(build.framework for build in choice.builds))),  # no project may require its own name
        choice.python,
        plan_calls(plan, mirrors),
        choice.minimum_driver,
        last_branch=plan.request.last_driver_branch,
        architecture=choice.architecture,
        platform=plan.request.platform,
        index_url=mirrors.index_url,
        cuda=choice.cuda,
        conda_alone=_conda_alone(plan, cuda),
        same_index=_same_index(plan),
        conda_cudas=tuple(_conda_cudas(plan)),
    )


def _conda_alone(plan: Plan, cuda: VersionSpec | None) -> tuple[str, ...]:
    """The packages of conda-forge for a CUDA that the plan's own package is not built for."""
    builds, request = plan.choice.builds, plan.request
    if cuda is None or len(builds) != 1 or request.companions or builds[0].cuda is None or cuda.holds(builds[0].cuda):
        return ()
    rows = [row for row in compiled_by_conda_forge(builds[0].framework, builds[0].version) if cuda.holds(row.cuda)]
    if not rows or str(rows[-1].cuda) not in _conda_cudas(plan):
        return ()
    return (f"{builds[0].framework}-gpu={builds[0].version}", f"cuda-version={rows[-1].cuda}")


def _same_index(plan: Plan) -> str:
    """The index of the framework that has its builds for the CUDA of the plan, where they come from the default one."""
    builds = [build for build in plan.choice.builds if build.on_pypi and build.cuda is not None]
    rows = (
        row
        for build in builds
        for row in Matrix.load().builds(build.framework)
        if row.version == build.version and row.cuda == build.cuda and row.index_url
    )
    found = next(rows, None)
    return found.index_url or "" if found is not None else ""


def _conda_cudas(plan: Plan) -> Iterator[str]:
    """The CUDA versions of conda-forge that the request's driver and GPUs run, those that were asked for alone."""
    request, tables = plan.request, Matrix.load()
    for build in plan.choice.builds:
        for row in compiled_by_conda_forge(build.framework, build.version):
            too_old = request.driver is not None and _is_too_old(request.driver, row.cuda, tables)
            code = {code_match(gpu.compute_capability, row.sass, row.ptx) for gpu in request.gpus}
            known = all(cuda_match(gpu.compute_capability, row.cuda, tables).runs is not False for gpu in request.gpus)
            if not too_old and known and CodeMatch.NONE not in code:
                yield str(row.cuda)


def _is_too_old(driver: Version, cuda: Version, tables: Matrix) -> bool:
    """Whether a driver does not run a CUDA; one that is named by its branch stands for the newest of that."""
    lowest = driver_floors(cuda, tables).lowest
    return lowest is not None and (driver.major < lowest.major if len(driver.parts) == 1 else driver < lowest)


def one_file(calls: Sequence[PipInstall]) -> list[str] | None:
    """All calls as lines of one requirements file, None where they use different indexes: it cannot keep them apart."""
    if len({call.index_url for call in calls}) > 1:
        return None
    settings = dict.fromkeys(setting for call in calls for setting in call.settings)
    lines = [line for call in calls for line in call.requirements]
    return [*(f"{option} {address}" for option, address in settings), *lines]


def in_one_file(packages: PackageList, form: str) -> list[str]:
    """The lines of a requirements file. Raises EnvkitError for packages of different indexes."""
    lines = one_file(packages.calls)
    if lines is None:
        reason = "its packages come from different indexes, which a single file of this format cannot express"
        raise EnvkitError(f"--format {form}: {reason}.", "Use pyproject, pixi, uv, or pip, which can.")
    return lines
