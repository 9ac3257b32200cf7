"""The build that serves this machine in place of the installed one, and the commands that bring it.

The resolver chooses, as for `envkit resolve`: what the driver, the GPUs, the Python or the system cannot run is never
installed, and where it finds nothing the remedy says what would have to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version, VersionSpec
from envkit.checks.engine.ask import install_cuda, resolve_command
from envkit.checks.engine.findings import Remedy
from envkit.checks.frameworks.installs import Installed, installs, release
from envkit.checks.frameworks.swap import swap
from envkit.model import Environment, Message, PythonEnvironment

if TYPE_CHECKING:
    from envkit.solver.model import Choice, NoPlan, Plan
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild


def replacement(
    environment: Environment, matrix: Matrix, found: Installed, why: str, *, also_removed: Sequence[str] = ()
) -> Remedy:
    """The remedy that puts a build which fits this machine in place of the installed one: the same release if any fits.

    `also_removed` are other packages that write the same files. Where no build fits: what would have to change.
    """
    framework = matrix.framework(found.framework.name)
    if framework is None:
        return Remedy(why)
    plan = plan_for(environment, matrix, framework.name, found.python, release(found.framework.version))
    choice = _for_gpus(plan)
    if choice is None:
        ask = resolve_command(environment, matrix, framework=framework.name)
        return Remedy(f"{why} {_refusal(framework.title, plan)}", (ask,))
    build = choice.builds[0]
    title = f"{framework.title} {build.version}"
    kept = not also_removed and _is_installed(found, build)
    if choice.needs_toolkit and choice.cuda is not None and kept:
        return Remedy(f"{why} {title} loads CUDA {choice.cuda} from the system.", install_cuda(choice.cuda))
    steps = swap(found, choice, also_removed)
    by_conda = any(step.words[:1] == ("conda",) for step in steps)
    lost = " conda also removes the packages that need what it removes." if by_conda else ""
    needs = _needs(choice, found, driver_known=plan.request.driver is not None)
    return Remedy(f"{why} {title} for CUDA {build.cuda} fits this machine{needs}.{lost}", steps)


def _is_installed(found: Installed, build: FrameworkBuild) -> bool:
    """True where what is installed is this build, or may be: its CUDA is not known."""
    if build.version != release(found.framework.version):
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
) -> Remedy:
    """The GPU build of a framework in place of the installed one; what to ask where none is seen to be installed."""
    items = (item for item in installs(environment, name) if python is None or item.python is python)
    found = next(items, None)
    if found is not None:
        return replacement(environment, matrix, found, why)
    return Remedy(why, (resolve_command(environment, matrix, messages, framework=name),))


def plan_for(
    environment: Environment, matrix: Matrix, name: str, python: PythonEnvironment | None, version: Version | None
) -> Plan | NoPlan:
    """What the resolver chooses for this machine and Python: a build of `version` if one fits, else the best of all."""
    from envkit.solver.request import FrameworkRequest, Request
    from envkit.solver.solve import resolve
    from envkit.solver.target import for_environment

    own = python.version.release(2) if python is not None and python.version is not None else None
    asked = Request(frameworks=(FrameworkRequest(name),), python=_exactly(own))
    open_request = for_environment(asked, environment, matrix)
    open_request = replace(open_request, os_id=None)  # the Python is there: only the system's glibc still matters
    limit = environment.driver.driver_cuda_version
    if open_request.driver is None and limit.known:
        open_request = replace(open_request, cuda=VersionSpec((("<", Version.of(limit.get().major + 1)),)))
    if version is not None:
        same = resolve(replace(open_request, frameworks=(FrameworkRequest(name, _exactly(version)),)), matrix)
        if _for_gpus(same) is not None:
            return same
    return resolve(open_request, matrix)


def _for_gpus(plan: Plan | NoPlan) -> Choice | None:
    """What a plan chose, where that is a build for GPUs."""
    from envkit.solver.model import Plan

    found = isinstance(plan, Plan) and plan.choice.builds and plan.choice.builds[0].cuda is not None
    return plan.choice if isinstance(plan, Plan) and found else None


def _exactly(version: Version | None) -> VersionSpec | None:
    return VersionSpec((("==", version),)) if version is not None else None


def _refusal(title: str, plan: Plan | NoPlan) -> str:
    """What stands against every build, and the nearest change that would do."""
    conflicts = getattr(plan, "conflicts", ())
    against = f" ({' with '.join(conflicts[0].between)})" if conflicts else ""
    ways = [
        f"{' and '.join(f'{option} {value}' for option, value in way.changes.items())} {way.gain}"
        for way in plan.alternatives[:2]
    ]
    nearest = f" What would help: {'; or '.join(ways)}." if ways else ""
    return f"No known build of {title} fits this machine as it is{against}.{nearest}"


def _needs(choice: Choice, found: Installed, *, driver_known: bool) -> str:
    """What the build needs that is not known of this machine, or that pip does not bring."""
    build, needs = choice.builds[0], []
    if found.python.version is None and build.pythons:
        needs.append(f"Python {build.pythons[0]} to {build.pythons[-1]}")
    if not driver_known and choice.minimum_driver is not None:
        needs.append(f"driver {choice.minimum_driver} or newer")
    if choice.needs_toolkit:
        needs.append(f"the libraries of CUDA {choice.cuda} on the system (envkit install --cuda {choice.cuda})")
    return f"; it needs {' and '.join(needs)}" if needs else ""
