"""Requests written as a user would type them, against the real tables."""

from __future__ import annotations

from functools import cache

from envkit.base.versions import Version, VersionSpec
from envkit.solver.model import NoPlan, Plan
from envkit.solver.parse import parse_framework, parse_gpu
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from envkit.tables import Matrix


@cache
def matrix() -> Matrix:
    return Matrix.load()


def ask(
    *frameworks: str,
    gpus: tuple[str, ...] = (),
    cuda: str = "",
    cudnn: str = "",
    python: str = "",
    driver: str = "",
    os_id: str | None = None,
    platform: str = "linux",
    architecture: str = "x86_64",
    container: bool = False,
    needs_toolkit: bool = False,
    with_driver: bool = False,
) -> Request:
    """The request for these option values."""
    return Request(
        frameworks=tuple(parse_framework(text, matrix()) for text in frameworks),
        cuda=VersionSpec.parse(cuda) if cuda else None,
        cudnn=VersionSpec.parse(cudnn) if cudnn else None,
        python=VersionSpec.parse(python) if python else None,
        os_id=os_id,
        architecture=architecture,
        gpus=tuple(parse_gpu(text, matrix()) for text in gpus),
        driver=Version.parse(driver) if driver else None,
        platform=platform,
        container=container,
        needs_toolkit=needs_toolkit,
        with_driver=with_driver,
    )


def plan_of(request: Request) -> Plan:
    """The plan of a request that must have one."""
    plan = resolve(request, matrix())
    assert isinstance(plan, Plan), plan.conflicts if isinstance(plan, NoPlan) else plan
    return plan


def refusal_of(request: Request) -> NoPlan:
    """The refusal of a request that must have no plan."""
    plan = resolve(request, matrix())
    assert isinstance(plan, NoPlan), plan
    return plan


def status_of(plan: Plan, relation: str) -> set[str]:
    """The statuses that a relation has in a plan."""
    return {verdict.status for verdict in plan.verdicts if verdict.relation == relation}


def offers(plan: Plan | NoPlan, option: str) -> list[str]:
    """The values that the alternatives offer for one option alone."""
    return [change.changes[option] for change in plan.alternatives if list(change.changes) == [option]]
