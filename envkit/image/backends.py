"""Frameworks that compute with another one get it, unless the request names it itself."""

from __future__ import annotations

from collections.abc import Callable

from envkit._startup.records import replace
from envkit.base.versions import VersionSpec
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import FrameworkRequest
from envkit.tables import images as data


def with_backends(plan: Plan | NoPlan, resolve: Callable[..., Plan | NoPlan]) -> Plan | NoPlan:
    """The plan with the backends of its frameworks, resolved again; the plan itself where none is missing.

    Without its backend a framework does not even start: where nothing holds both, there is no plan.
    """
    if isinstance(plan, NoPlan):
        return plan
    asked = {part.name for part in plan.request.frameworks}
    added = []
    for build in plan.choice.builds:
        row = data.backend(build)
        if row is not None and not asked & {row.backend, "jax", "pytorch"}:
            added.append(FrameworkRequest(row.backend, VersionSpec.parse(row.backend_versions)))
    if not added:
        return plan
    return resolve(replace(plan.request, frameworks=(*plan.request.frameworks, *added)))
