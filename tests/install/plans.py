"""Plans for tests: made by the resolver, their files replaced by stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import ParamSpec, TypeVar

from envkit.base.settings import Mirrors
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.install.options import ScriptOptions
from envkit.install.plan import for_script
from envkit.install.steps import installation
from envkit.render.script import render_script
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.solver.solve import resolve
from envkit.tables import Matrix
from envkit.tables.rows import Runfile
from tests.install.standins import StandIn

P = ParamSpec("P")
T = TypeVar("T")


def scripted(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> str:
    """The script for a plan as the resolver gives it."""
    return render_script(installation(for_script(plan), options, mirrors), options)


@cache
def matrix() -> Matrix:
    """The packaged tables, read once."""
    return Matrix.load()


def asked(
    cuda: str | None = None,
    framework: str | None = None,
    os_id: str | None = "debian12",
    architecture: str = "x86_64",
    gpus: tuple[str, ...] = (),
    with_driver: bool = False,
    platform: str = "linux",
) -> Request:
    """Such a request as `envkit install` makes it."""
    return Request(
        cuda=VersionSpec.parse(cuda) if cuda else None,
        frameworks=(FrameworkRequest(framework),) if framework else (),
        os_id=os_id,
        architecture=architecture,
        gpus=tuple(TargetGpu(ComputeCapability.parse(gpu)) for gpu in gpus),
        with_driver=with_driver,
        platform=platform,
        needs_toolkit=bool(cuda) or not framework,
        asked=frozenset({"cuda", "frameworks", "os_id"}),
    )


def _answered(ask: Callable[P, Request], answer: Callable[[Request], T]) -> Callable[P, T]:
    """`answer` to what `ask` makes of its arguments."""

    def function(*arguments: P.args, **named: P.kwargs) -> T:
        return answer(ask(*arguments, **named))

    return function


def _resolved(request: Request) -> Plan | NoPlan:
    return resolve(request, matrix())


def planned(request: Request) -> Plan:
    """The plan for a request; the test fails when there is none."""
    found = _resolved(request)
    assert isinstance(found, Plan), found
    return found


# Called as `asked` is: what the resolver answers to such a request, and the plan for it.
outcome = _answered(asked, _resolved)
plan = _answered(asked, planned)


def small(framework: str, python: str) -> Plan:
    """The plan of a small package of the framework's name for that Python, from no index of its own."""
    found = plan(None, framework)
    [build] = found.choice.builds
    build = replace(
        build,
        package=f"{framework}==1.0",
        version=Version.parse("1.0"),
        companions=(),
        numpy=None,
        index_url=None,
        find_links=None,
    )
    choice = replace(
        found.choice, builds=(build,), needs_toolkit=False, python=Version.parse(python), python_source=None
    )
    return replace(found, choice=choice)


def with_stand_ins(original: Plan, files: Mapping[str, StandIn]) -> Plan:
    """The plan with each file's checksum replaced by that of the stand-in of its name."""
    choice = original.choice
    runfiles = tuple(_stand_in(row, files) for row in choice.runfiles if row.name in files)
    cudnn = choice.cudnn
    if cudnn is not None and cudnn.archive is not None:
        found = files.get(cudnn.archive)
        cudnn = replace(cudnn, sha256=found.sha256 if found else None) if found else None
    return replace(original, choice=replace(choice, runfiles=runfiles, cudnn=cudnn))


def _stand_in(row: Runfile, files: Mapping[str, StandIn]) -> Runfile:
    # patches have no published checksum in the data: they keep that, so that their own integrity check is used
    if row.sha256 is None and row.md5 is None:
        return row
    return replace(row, sha256=files[row.name].sha256)


def mirrors_to(base: str) -> Mirrors:
    """Mirrors that send every vendor host to the loopback server."""
    hosts = ("developer.nvidia.com", "developer.download.nvidia.com", "github.com")
    return Mirrors(hosts={host: base for host in hosts})
