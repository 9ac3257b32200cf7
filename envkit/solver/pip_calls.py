"""A plan's Python packages as calls of pip: for images, remedies and the command that a plan ends with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.settings import Mirrors, trusting
from envkit.base.versions import narrowest
from envkit.solver.wheel_files import by_file, requirement_lines, wheel_tag
from envkit.tables import images as data

if TYPE_CHECKING:
    from envkit.base.versions import Version
    from envkit.solver.model import Choice, Plan
    from envkit.tables.rows import FrameworkBuild


@record
class PipInstall:
    """One `pip install`: requirements that share their index settings."""

    requirements: tuple[str, ...]
    index_url: str | None = None
    find_links: str | None = None

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The options of pip that name the indexes, each with its address."""
        given = (("--index-url", self.index_url), ("--find-links", self.find_links))
        places = tuple((option, address) for option, address in given if address)
        return (*places, *trusting(*(address for _, address in places)))


def plan_calls(plan: Plan, mirrors: Mirrors) -> tuple[PipInstall, ...]:
    """The calls of pip that make the plan, in their order."""
    calls = pip_calls(plan.choice, mirrors, with_libraries=not plan.choice.needs_toolkit)
    return (*calls, *_companions(plan, mirrors))


def _companions(plan: Plan, mirrors: Mirrors) -> Iterator[PipInstall]:
    """The packages that were asked for by name, after the framework whose index may lack them."""
    if plan.request.companions:
        from envkit.solver.companions import bounds_after, index_after, installed_after

        for line in installed_after(plan.choice, plan.request):
            place = index_after(line, plan.choice, plan.request)
            lines = (line, *bounds_after(line, plan.choice, plan.request))
            yield PipInstall(lines, index_url=mirrors.rewrite(place) if place else mirrors.index_url)


def pip_calls(
    choice: Choice, mirrors: Mirrors, *, with_libraries: bool, also: Iterable[str] = ()
) -> tuple[PipInstall, ...]:
    """The calls in order: NumPy's bound, `also` and what the default index has first, then those of other indexes.

    `with_libraries`: no toolkit provides the libraries of CUDA that a framework loads and does not require.
    """
    default: list[str] = list(_numpy(choice))
    others: list[PipInstall] = []
    for build in choice.builds:
        if not installed_by_pip(build, choice):
            continue
        needed = data.need(build) if with_libraries else None
        default += needed.pip if needed else ()
        lines = tuple(requirement_lines(build, choice.python, choice.architecture, mirrors))
        if build.package is None:
            address = wheel_address(build, choice, mirrors) or ""
            others.append(PipInstall((address, *build.companions), index_url=mirrors.index_url))
        elif by_file(build, choice.python):
            default += lines
        elif build.index_url or build.find_links:
            others.append(call_of(build, lines, choice.python, mirrors))
        else:
            default += lines
    default += [*choice.pins, *also]
    first = [PipInstall(tuple(dict.fromkeys(default)), index_url=mirrors.index_url)] if default else []
    return (*first, *others)


def _numpy(choice: Choice) -> Iterator[str]:
    """The NumPy that all builds of the choice take."""
    bounds = [build.numpy for build in choice.builds if build.numpy and installed_by_pip(build, choice)]
    if bounds:
        yield f"numpy{bounds[0] if len(set(bounds)) == 1 else narrowest(bounds)}"


def call_of(
    build: FrameworkBuild, requirements: tuple[str, ...], python: Version | None, mirrors: Mirrors
) -> PipInstall:
    """The call that takes a build from where it is.

    It names no second index: of two pip takes the higher version, whoever put it there.
    """
    index = mirrors.rewrite(build.index_url) if build.index_url else mirrors.index_url
    links = mirrors.rewrite(build.find_links) if build.find_links and not by_file(build, python) else None
    return PipInstall(requirements, index_url=index, find_links=links)


def wheel_address(build: FrameworkBuild, choice: Choice, mirrors: Mirrors) -> str | None:
    """The address of the wheel of a build that is in a folder without an index page, or None."""
    tag = wheel_tag(choice.python)
    if build.package or tag is None or build.find_links is None or not build.find_links.endswith("/"):
        return None
    return f"{mirrors.rewrite(build.find_links)}{build.framework}-{build.version}-{tag}-linux_{choice.architecture}.whl"


def installed_by_pip(build: FrameworkBuild, choice: Choice) -> bool:
    """True when pip provides the build; False when it has to be compiled."""
    return build.package is not None or wheel_address(build, choice, Mirrors()) is not None
