"""Frameworks compiled from source: the distributions that they build on, and whose Python they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.software import title_of
from envkit.compat.tables import Tables
from envkit.solver.model import Alternative, Choice, Conflict, NoPlan, Plan
from envkit.solver.pip_calls import installed_by_pip
from envkit.solver.request import Request
from envkit.tables import images as data
from envkit.tables.images import SourceStep
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild, OperatingSystem

_PYTHON = "python-library"
_PACKAGED = ("system", "deadsnakes")  # the ways to a Python by packages of the distribution's kind
_MANAGER = "apt"  # the packages that the recipes name are Debian's and Ubuntu's


def with_its_system(plan: Plan | NoPlan, resolve: Callable[[Request], Plan | NoPlan], matrix: Tables) -> Plan | NoPlan:
    """The plan on a distribution that its frameworks can run on, where the request leaves the distribution open.

    That is one with the Python that a source build takes, and with a package of each library that packages load.
    Where the request leaves the CUDA open, a build that has a recipe is taken in place of one that has none.
    """
    plan = _with_a_recipe(plan, resolve)
    if isinstance(plan, NoPlan) or plan.choice.os is None:
        return plan
    for system in _better_systems(plan, plan.choice.os, matrix) if plan.request.os_id is None else ():
        found = resolve(replace(plan.request, os_id=system.os_id))
        if isinstance(found, Plan):
            return _with_its_python(found, resolve)
    plan = _with_its_python(plan, resolve)
    return _not_on_its_system(plan, resolve, matrix) or plan


def _not_on_its_system(plan: Plan, resolve: Callable[[Request], Plan | NoPlan], matrix: Tables) -> NoPlan | None:
    """Why a source build cannot be had on the distribution or with the Python asked for, and where it can."""
    try:
        own_python(plan, matrix)
    except EnvkitError as error:
        build = _compiled(plan)
        others = _systems(build, replace(plan.request, python=None), matrix) if build is not None else []
        tried = ((one, resolve(replace(plan.request, os_id=one.os_id, python=None))) for one in others)
        found = next(((one, other) for one, other in tried if isinstance(other, Plan)), None)
        asked = plan.request.os_id, plan.request.python and f"python {plan.request.python}"
        parts = (*map(str, plan.request.frameworks), *(one for one in asked if one))
        changes: tuple[Alternative, ...] = ()
        if found is not None:
            gain = f"{series(title_of(one) for one in found[1].choice.builds)}, with Python {found[1].choice.python}"
            changes = (Alternative({"os": found[0].os_id, "python": str(found[1].choice.python)}, gain),)
        return NoPlan(plan.request, (Conflict(parts, error.message.rstrip(".")),), changes)
    return None


def _with_its_python(plan: Plan, resolve: Callable[[Request], Plan | NoPlan]) -> Plan:
    """The plan with the Python of its distribution that its source build is made with; what the request says stays."""
    build, system = _compiled(plan), plan.choice.os
    python = max(_pythons(build, system, plan.request) or (), default=None) if build and system else None
    if python is None or plan.choice.python == python:
        return plan
    found = resolve(replace(plan.request, python=VersionSpec.parse(str(python))))
    return replace(found, request=plan.request) if isinstance(found, Plan) else plan


def _with_a_recipe(plan: Plan | NoPlan, resolve: Callable[[Request], Plan | NoPlan]) -> Plan | NoPlan:
    """The plan for a CUDA whose build has a recipe, where the planned one can neither be fetched nor compiled."""
    if isinstance(plan, NoPlan) or plan.request.cuda is not None:
        return plan
    stuck = [one for one in plan.choice.builds if not installed_by_pip(one, plan.choice) and not data.source_steps(one)]
    lines = {row.cuda for build in stuck for row in read(SourceStep) if row.framework == build.framework}
    for line in sorted(line for line in lines if line):
        found = resolve(replace(plan.request, cuda=VersionSpec.parse(line)))
        if isinstance(found, Plan):
            return found
    return plan


def _better_systems(plan: Plan, planned: OperatingSystem, matrix: Tables) -> list[OperatingSystem]:
    """The distributions to try in place of the planned one; [] where that will do."""
    build = _compiled(plan)
    if build is not None:
        return _systems(build, plan.request, matrix) if _pythons(build, planned, plan.request) == [] else []
    if lacking(plan.choice, planned) is None:
        return []
    return _newest_first(
        row for row in matrix.operating_systems if row.base_image and lacking(plan.choice, row) is None
    )


def own_python(plan: Plan, matrix: Tables) -> Version | None:
    """The Python that the plan's source build is made with, None for one without.

    Raises EnvkitError where the distribution has none that will do, or is none that the build runs on.
    """
    build, system = _compiled(plan), plan.choice.os
    if build is None or system is None:
        return None
    framework = matrix.framework(build.framework)
    title = framework.title if framework else build.framework
    if system.package_manager != _MANAGER:
        raise EnvkitError(
            f"{title} has a recipe for Debian and Ubuntu only, not for {system.os_id}.", _advice(build, plan, matrix)
        )
    pythons = _pythons(build, system, plan.request)
    if pythons is None:
        return None
    if not pythons:
        wanted = f"Python {plan.request.python}" if plan.request.python else "one of them"
        told = series([str(python) for python in _known(build)], "or")
        raise EnvkitError(
            f"{title} is compiled for its distribution's own Python ({told}), and {system.os_id} does not have "
            f"{wanted}.",
            _advice(build, plan, matrix),
        )
    return max(pythons)


def _compiled(plan: Plan) -> FrameworkBuild | None:
    """The build of the plan that has to be compiled, or None."""
    return next((build for build in plan.choice.builds if build.package is None and data.source_steps(build)), None)


def _known(build: FrameworkBuild) -> tuple[Version, ...]:
    """The Pythons whose packages the recipe knows; () for a framework without Python."""
    steps = (step.value for step in data.source_steps(build) if step.kind == "python")
    return tuple(Version.parse(word) for value in steps for word in value.split(";"))


def _pythons(build: FrameworkBuild, system: OperatingSystem, request: Request) -> list[Version] | None:
    """The distribution's own Pythons that the recipe and the request allow; None for a framework without Python."""
    known = _known(build)
    if not known:
        return None
    had = {python.release(2) for python in (system.default_python, *system.other_pythons) if python}
    if system.package_manager != _MANAGER:
        return []
    return [one for one in known if one in had and (request.python is None or request.python.holds(one))]


def _systems(build: FrameworkBuild, request: Request, matrix: Tables) -> list[OperatingSystem]:
    """The distributions with an image that the build runs on, with a Python as requested; longest supported first."""
    return _newest_first(
        system
        for system in matrix.operating_systems
        if system.base_image and system.package_manager == _MANAGER and _pythons(build, system, request) != []
    )


def _newest_first(systems: Iterable[OperatingSystem]) -> list[OperatingSystem]:
    """The distributions, the longest supported ones first."""
    return sorted(systems, key=lambda row: row.extended_support_end or row.end_of_support or "", reverse=True)


def _advice(build: FrameworkBuild, plan: Plan, matrix: Tables) -> str:
    names = [system.os_id for system in _systems(build, plan.request, matrix)]
    return f"Choose --os {names[0]}." if names else "Omit --python, or choose another version."


def lacking(choice: Choice, system: OperatingSystem) -> str | None:
    """The first of the libraries that the frameworks load for which the distribution has no package, or None."""
    return next((purpose for purpose in purposes(choice) if not data.packages(purpose, system, version="")), None)


def purposes(choice: Choice) -> Iterator[str]:
    """What the frameworks load from packages; an interpreter from elsewhere provides its own library."""
    own = choice.python_source is not None and choice.python_source.way in _PACKAGED
    for needed in (data.need(build) for build in choice.builds):
        yield from (name for name in (needed.packages if needed else ()) if own or name != _PYTHON)
