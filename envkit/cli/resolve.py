"""`envkit resolve`: versions that work together, or why none do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import plan_options, request_from, request_options
from envkit.cli.output import write_output

if TYPE_CHECKING:
    from envkit.solver.model import NoPlan, Plan


@click.command(
    epilog="""\b
Examples:
  envkit resolve --framework pytorch
  envkit resolve --framework pytorch==2.7 --gpu "GeForce RTX 5090"
  envkit resolve --framework tensorflow --driver 450.80.02 --target any --json"""
)
@request_options
@click.option("--container", is_flag=True, help="Decide for an image: the driver stays on the host.")
def resolve(container: bool, **given: Any) -> int:
    """Choose versions that work together, or say why none do and what is nearest."""
    from envkit.base.settings import Mirrors
    from envkit.solver.solve import resolve as solve
    from envkit.tables import Matrix

    options = plan_options(given)
    # A plan names no download; a wrong mirror is refused here as it is by the commands that use it.
    Mirrors().with_options(options.mirrors, options.index_url)
    matrix = Matrix.load()
    plan = solve(request_from(options, matrix, container=container), matrix)
    if options.as_json:
        write_output(plan_json(plan), options.output)
    else:
        from envkit.base.shown import shown_lines
        from envkit.render.plan_text import plan_summary

        write_output(shown_lines(plan_summary(plan)), options.output)
    return exit_code(plan)


def plan_json(plan: Plan | NoPlan) -> str:
    """The plan document of `interface.md` as text."""
    from envkit.base.json_text import dumps
    from envkit.documents.plan import plan_document

    return dumps(plan_document(plan))


def exit_code(plan: Plan | NoPlan) -> int:
    """0 when a plan exists, 1 when none does."""
    from envkit.solver.model import Plan

    return 0 if isinstance(plan, Plan) else 1
