"""The plan of an image: the resolver's, on a base and with a Python that the image can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.image.backends import with_backends
from envkit.image.options import ImageOptions
from envkit.image.own_base import on_own_base
from envkit.image.recipe import for_image
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from envkit.solver.source_python import with_its_system

if TYPE_CHECKING:
    from envkit.tables import Matrix


def image_plan(request: Request, options: ImageOptions, matrix: Matrix) -> Plan | NoPlan:
    """The plan that an image can apply to the request, or why there is none. Raises RequestError."""
    plan = resolved(request, options, matrix)
    return plan if isinstance(plan, NoPlan) else for_image(plan, options, matrix)


def resolved(request: Request, options: ImageOptions, matrix: Matrix) -> Plan | NoPlan:
    """The versions alone: on the user's base, with the backends of the frameworks, on a system that they build on."""
    if options.devel:
        request = replace(request, needs_toolkit=True)
    if options.base:
        request = on_own_base(request, options.base, matrix)
    if options.official:  # its image holds all that it needs
        return resolve(request, matrix)
    plan = with_backends(resolve(request, matrix), lambda changed: resolve(changed, matrix))
    return with_its_system(plan, lambda changed: resolve(changed, matrix), matrix)
