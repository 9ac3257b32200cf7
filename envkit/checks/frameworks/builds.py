"""The build that serves this machine in place of the installed one, and the commands that provide it.

The resolver chooses, as for `envkit resolve`: what the driver, the GPUs, the Python or the system cannot run is never
installed, and where it finds nothing the remedy says what would have to change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.sentences import series, spans
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.checks.engine.ask import capability_of, resolve_command
from envkit.checks.engine.command import REQUIREMENT, VERSION, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.beside import compiled_beside
from envkit.checks.frameworks.conda_builds import conda_swap
from envkit.checks.frameworks.installs import (
    TORCH_PACKAGES,
    Installed,
    capable_gpus,
    companions_of,
    installs,
    judged,
    pip,
    release,
)
from envkit.checks.frameworks.swap import anew, pip_installs, swap
from envkit.checks.frameworks.system_libraries import libraries_of_system
from envkit.checks.gpu.gpus import gpus_of, on_grace
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment, FrameworkInstall, Message, PythonEnvironment
from envkit.model.observed import Observed
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.solver.model import Choice, NoPlan, Plan
    from envkit.solver.request import Request, TargetGpu
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_WITH_COMPANIONS = ("comfyui", "comfyui-portable", "webui")  # programs that install all of torch's packages
_LINES = 24  # of releases that are tried next to the installed one


def replacement(
    environment: Environment,
    matrix: Matrix,
    found: Installed,
    why: str,
    *,
    also_removed: Sequence[str] = (),
    native: bool = False,
) -> Remedy:
    """The remedy that puts a build which fits this machine in place of the installed one: the same release if any fits.

    `also_removed` are other packages that write the same files. Where no build fits: what would have to change.
    """
    framework = matrix.framework(found.framework.name)
    if framework is None:
        return Remedy(why)
    version = release(found.framework.version)
    plan = plan_for(environment, matrix, framework.name, found.python, version, native=native)
    choice = _by_index(environment, matrix, _for_gpus(plan))
    if choice is None:
        other = any("python" in way.changes for way in plan.alternatives)
        ask = resolve_command(environment, matrix, framework=framework.name, any_python=other)
        return Remedy(_refusal(why, framework.title, plan), (ask,))
    build = choice.builds[0]
    if not also_removed and (own := conda_swap(environment, matrix, found, build)):
        return Remedy(f"{why} {own.advice}", own.steps)
    title = f"{framework.title} {build.version}"
    kept = not also_removed and _is_installed(found, build)
    if choice.needs_toolkit and choice.cuda is not None and kept:
        return libraries_of_system(environment, title, choice.cuda, choice.cudnn_version)
    bundled = managed_by(environment, *_WITH_COMPANIONS)
    others, again = compiled_beside(found, build)
    commands = (*swap(found, choice, also_removed, bundled=bundled), *_companions_beside(matrix, found, choice), *again)
    by_conda = any(step.words[:1] == ("conda",) for step in commands)
    lost = " conda will also remove packages that depend on the removed ones." if by_conda else ""
    needs = _needs(choice, found, driver_known=plan.request.driver is not None, windows=on_windows(environment))
    works = _works(environment, matrix)
    moved = _moved(framework.title, release(found.framework.version), build, works)
    return Remedy(f"{why} {title} for CUDA {build.cuda} {works}{needs}.{moved}{others}{lost}", commands)


def _companions_beside(matrix: Matrix, found: Installed, choice: Choice) -> Iterator[Command]:
    """torchvision and torchaudio of the new release, where its index has none: the installed ones would not load."""
    build = choice.builds[0]
    here = [item.name for item in found.python.distributions if item.name in TORCH_PACKAGES[1:]]
    own = {line.partition("==")[0] for line in build.companions}
    if build.framework != "pytorch" or build.version == release(found.framework.version) or not here:
        return
    lines = companions_of(matrix, build.version)
    wanted = [line for line in lines if line.partition("==")[0] in here and line.partition("==")[0] not in own]
    if wanted:
        yield pip(found.python, "install", "--no-deps", *(REQUIREMENT(line.partition("+")[0]) for line in wanted))


def bring_release(
    environment: Environment, matrix: Matrix, found: Installed, version: Version, why: str
) -> Remedy | None:
    """The remedy that puts another release of an installed framework in its place; None where no build of it fits."""
    choice = _for_gpus(plan_for(environment, matrix, found.framework.name, found.python, version))
    if choice is None or choice.builds[0].version != version:
        return None
    return Remedy(f"{why} Install {version} for CUDA {choice.builds[0].cuda}.", swap(found, choice))


def installed_fits(environment: Environment, matrix: Matrix, found: Installed) -> bool:
    """Whether the installed build is the one that the resolver takes for this machine: another package is at fault."""
    version = release(found.framework.version)
    choice = _for_gpus(plan_for(environment, matrix, found.framework.name, found.python, version))
    return choice is not None and version is not None and _is_installed(found, choice.builds[0])


def _works(environment: Environment, matrix: Matrix) -> str:
    """That a build was chosen for what is known: a text may describe a GPU or a driver alone."""
    if not environment.pasted:
        return "works on this machine"
    return (
        "supports this GPU"
        if capable_gpus(environment, matrix)
        else "works with this driver"
        if environment.driver.user_space.known
        else "matches what the input shows"
    )


def _moved(title: str, before: Version | None, build: FrameworkBuild, works: str) -> str:
    """A word on a change of release, which may break the program that uses the framework.

    A text that names only a line, such as 2.4, says nothing of the release in it: 2.4.1 is no change.
    """
    if before is None or build.version.starts_with(before):
        return ""
    moves = "upgrades" if build.version > before else "downgrades"
    return f" No build of {title} {before} {works}, so the command below {moves} {title} to {build.version}."


def _is_installed(found: Installed, build: FrameworkBuild) -> bool:
    """True where what is installed is this build, or may be: its CUDA is not known, or only its release line is."""
    version = release(found.framework.version)
    if version is None or not build.version.starts_with(version):
        return False
    own = found.framework.cuda
    return build.cuda == own.release(2) if own is not None else not found.framework.cuda_known


def bring(
    environment: Environment,
    matrix: Matrix,
    name: str,
    why: str,
    python: PythonEnvironment | None = None,
    messages: tuple[Message, ...] = (),
    *,
    native: bool = False,
) -> Remedy:
    """The GPU build of a framework in place of the installed one, or for an environment that nobody has seen."""
    items = (item for item in installs(environment, name) if python is None or item.python is python)
    found = next(items, None)
    if found is not None:
        return replacement(environment, matrix, found, why, native=native)
    return fresh(environment, matrix, name, why, messages, native=native)


def fresh(
    environment: Environment,
    matrix: Matrix,
    name: str,
    why: str,
    messages: tuple[Message, ...] = (),
    *,
    any_python: bool = False,
    version: Version | None = None,
    native: bool = False,
) -> Remedy:
    """The GPU build for this machine, where nothing is known of what is installed.

    Without a driver and a GPU to choose for: the question to put to envkit on that machine. `any_python`: an
    environment is made for it.
    """
    wanted = f"{name}=={version}" if version is not None else name
    ask = resolve_command(environment, matrix, messages, framework=wanted, any_python=any_python)
    said = capability_of(messages)
    named_gpu = ComputeCapability.parse(said) if said else None
    python = None if any_python else _only_python(environment)
    version = version or Version.find(named(messages, "version") or "")
    framework = matrix.framework(name)
    known = (
        installed(environment) is not None
        or environment.driver.driver_cuda_version.known
        or named_gpu is not None
        or capable_gpus(environment, matrix)
    )
    if framework is None or not known:
        return Remedy(why, (ask,))
    plan = plan_for(environment, matrix, name, python, version, named_gpu, native=native)
    choice = _by_index(environment, matrix, _for_gpus(plan))
    if choice is None:
        return Remedy(_refusal(why, framework.title, plan), (ask,))
    empty = python if python is not None else PythonEnvironment("", choice.python if any_python else None)
    bare = Installed(empty, FrameworkInstall(name, "", ""))
    if not pip_installs(choice):
        return Remedy(why, (ask,))
    build = choice.builds[0]
    needs = _needs(choice, bare, driver_known=plan.request.driver is not None, windows=on_windows(environment))
    works = _works(environment, matrix)
    advice = f"{why} {framework.title} {build.version} for CUDA {build.cuda} {works}{needs}."
    commands = anew(empty, choice)
    if any_python and choice.python:  # an environment of uv has no pip of its own
        commands = tuple(run("uv", *step.words[2:]) for step in commands)
        commands = (run("uv", "venv", "--python", VERSION(choice.python)), *commands)
    return Remedy(f"{advice}{_moved(framework.title, version, build, works)}", commands)


def _only_python(environment: Environment) -> PythonEnvironment | None:
    pythons = judged(environment)
    return pythons[0] if len(pythons) == 1 else None


def plan_for(
    environment: Environment,
    matrix: Matrix,
    name: str,
    python: PythonEnvironment | None,
    version: Version | None,
    named_gpu: ComputeCapability | None = None,
    *,
    native: bool = False,
) -> Plan | NoPlan:
    """What the resolver chooses for this machine and Python.

    A build of `version` if one fits, otherwise of the release nearest to it, otherwise the best of all; where no
    version is reported, of a release that has all companions. `native`: of a CUDA that compiles for the GPUs, as PTX of
    an older one is what fails or takes minutes.
    """
    from envkit.solver.knowledge import knowledge_of
    from envkit.solver.query import Query
    from envkit.solver.request import FrameworkRequest, Request, TargetGpu
    from envkit.solver.search import feasible
    from envkit.solver.solve import resolve
    from envkit.solver.target import for_environment

    own = python.version.release(2) if python is not None and python.version is not None else None
    asked = Request(frameworks=(FrameworkRequest(name),), python=_exactly(own))
    open_request = for_environment(asked, environment, matrix)
    open_request = replace(open_request, os_id=None)  # the Python is there: only the system's glibc still matters
    if not open_request.gpus:  # what somebody only wrote of a card is no fact of the machine, but is what is asked for
        told_gpus = [named_gpu] if named_gpu is not None else [own for _, own in capable_gpus(environment, matrix)]
        open_request = replace(open_request, gpus=tuple(TargetGpu(own) for own in dict.fromkeys(told_gpus)))
    open_request = replace(open_request, driver=_driver_for(open_request, matrix))
    if not environment.system.architecture.known and any(on_grace(gpu.name) for gpu in gpus_of(environment)):
        open_request = replace(open_request, architecture="aarch64")
    if native:
        open_request = replace(open_request, cuda=_knowing(open_request.gpus, matrix))
    if open_request.driver is None:
        told = environment.driver.driver_cuda_version
        clauses = open_request.cuda.clauses if open_request.cuda is not None else ()
        careful = replace(open_request, cuda=VersionSpec((*clauses, _most(told, matrix))))
        if told.known or feasible(Query(careful, knowledge_of(matrix))):  # a newer one may be too new for the driver
            open_request = careful
    for spec in _nearest(matrix, name, version) if version is not None else _usual(matrix, name, oldest=native):
        narrowed = replace(open_request, frameworks=(FrameworkRequest(name, spec),))
        if feasible(Query(narrowed, knowledge_of(matrix))):
            plan = resolve(narrowed, matrix)
            if _for_gpus(plan) is not None:
                return plan
    return resolve(open_request, matrix)


def _driver_for(asked: Request, matrix: Matrix) -> Version | None:
    """The driver to plan for: in place of one that does not know an old GPU the last that does, which has to come."""
    from envkit.solver.knowledge import knowledge_of

    knowledge = knowledge_of(matrix)
    driver = asked.driver
    for gpu in asked.gpus if asked.platform == "linux" else ():
        last = knowledge.last_branch(gpu)
        row = matrix.driver_branch(last) if last is not None else None
        known = driver is None or row is None or knowledge.gpu_on_driver(gpu, driver, asked.platform).status != "fail"
        if not known and row is not None:
            return row.last_version or driver
    return driver


def _most(told: Observed[Version], matrix: Matrix) -> tuple[str, Version]:
    """The newest CUDA to choose: of the driver's whole major line only where NVIDIA's rule covers that."""
    from envkit.compat.driver import driver_floors

    if told.known and driver_floors(told.get().release(2), matrix).minor_version is None:
        return "<=", told.get().release(2)
    major = told.get().major if told.known else limit("cuda-of-most-programs").major
    return "<", Version.of(major + 1)


def _knowing(gpus: Sequence[TargetGpu], matrix: Matrix) -> VersionSpec | None:
    from envkit.compat.gpu import cuda_span

    firsts = [first for gpu in gpus if (first := cuda_span(gpu.compute_capability, matrix)[0]) is not None]
    return VersionSpec(((">=", max(firsts).release(2)),)) if firsts else None


def _usual(matrix: Matrix, name: str, *, oldest: bool) -> Iterator[VersionSpec]:
    """The lines of a release that nobody told, which have all companions: a program may need any of them.

    The newest first, or the oldest where the installed one is too old: it is the smallest step.
    """
    builds = matrix.builds(name)
    every = {line.partition("==")[0] for build in builds for line in build.companions if "==" in line}
    full = (build for build in builds if every and every <= {line.partition("==")[0] for line in build.companions})
    lines = sorted({build.version.release(2) for build in full}, reverse=not oldest)
    yield from (VersionSpec((("==", line),)) for line in lines)


def _nearest(matrix: Matrix, name: str, version: Version) -> Iterator[VersionSpec]:
    """That version, then its line and the lines next to it, the nearest first and of two the newer."""
    yield VersionSpec((("==", version),))
    lines = sorted({build.version.release(2) for build in matrix.builds(name)})
    after = [*lines[1:], None]
    own = bisect_left(lines, version.release(2))
    for place in sorted(range(len(lines)), key=lambda place: (abs(place - own), -place))[:_LINES]:
        end = after[place]
        yield VersionSpec(((">=", lines[place]), *((("<", end),) if end is not None else ())))


def _for_gpus(plan: Plan | NoPlan) -> Choice | None:
    """What a plan chose, where that is a build for GPUs."""
    from envkit.solver.model import Plan

    found = isinstance(plan, Plan) and plan.choice.builds and plan.choice.builds[0].cuda is not None
    return plan.choice if isinstance(plan, Plan) and found else None


def _by_index(environment: Environment, matrix: Matrix, choice: Choice | None) -> Choice | None:
    """The choice with the index of its CUDA named where the text does not tell the system.

    What pip installs without one on Linux is another build than on Windows, where it is one for the CPU.
    """
    if choice is None or environment.system.os.known or not environment.pasted:
        return choice
    build = choice.builds[0]
    if not build.on_pypi or build.index_url:
        return choice
    same = (row for row in matrix.builds(build.framework) if (row.version, row.cuda) == (build.version, build.cuda))
    own = next((row for row in same if row.index_url and choice.architecture in row.architectures), None)
    if own is None or own.package != build.package:
        return choice
    return replace(choice, builds=(replace(build, index_url=own.index_url), *choice.builds[1:]))


def _exactly(version: Version | None) -> VersionSpec | None:
    return VersionSpec((("==", version),)) if version is not None else None


def _refusal(why: str, title: str, plan: Plan | NoPlan) -> str:
    """What is against every build, and the nearest change that would do; a `why` that asks for a build is left out."""
    from envkit.solver.parts import part_in_words

    conflicts = getattr(plan, "conflicts", ())
    others = [part_in_words(part) for part in conflicts[0].between] if conflicts else []
    others = [part for part in others if not part.startswith(title)]
    against = f"with {series(others)}" if others else "on this machine as it is"
    ways = [
        f"{way.gain} ({' '.join(f'--{option} {value}' for option, value in way.changes.items())})"
        for way in plan.alternatives
        if "gpu" not in way.changes  # nobody changes the card for a build
    ][:2]
    nearest = f" What would work: {'; or '.join(ways)}." if ways else ""
    none = f"envkit knows of no {title} build that works {against}.{nearest}"
    return none if why.startswith("Install ") else f"{why} {none}"


def _libraries(choice: Choice, *, windows: bool) -> str:
    if windows:
        cudnn = f" and cuDNN {choice.builds[0].cudnn}" if choice.builds[0].cudnn else ""
        return f"the libraries of CUDA {choice.cuda}{cudnn} on PATH"
    return f"the libraries of CUDA {choice.cuda} on the system (envkit install --cuda {choice.cuda})"


def _needs(choice: Choice, found: Installed, *, driver_known: bool, windows: bool) -> str:
    """What the build needs that is not known of this machine, or that pip does not provide."""
    build, needs = choice.builds[0], []
    if found.python.version is None and build.pythons:
        needs.append(f"Python {spans(build.pythons)}")
    if not driver_known and choice.minimum_driver is not None:
        needs.append(f"driver {choice.minimum_driver} or newer")
    if choice.needs_toolkit:
        needs.append(_libraries(choice, windows=windows))
    return f" and needs {series(needs)}" if needs else ""
