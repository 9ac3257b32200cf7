"""`envkit resolve`: versions that work together, or why none do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import plan_options, request_from, request_options
from envkit.cli.output import one_format, say, write_output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.base.errors import UnknownFramework
    from envkit.base.settings import Mirrors
    from envkit.cli.options import PlanOptions
    from envkit.solver.model import NoPlan, Plan
    from envkit.solver.request import Request
    from envkit.tables import Matrix

# The modules of `envkit.render.plans`, which need not be loaded to read a command line; a test holds the names equal.
FORMATS = ("text", "json", "pip", "uv", "conda", "requirements", "pyproject", "poetry", "pixi")


@click.command(
    epilog="""\b
Examples:
  envkit resolve --framework pytorch
  envkit resolve --framework pytorch==2.7 --gpu "GeForce RTX 5090"
  envkit resolve --framework tensorflow --driver 450.80.02 --target any --json
  envkit resolve --framework pytorch --cuda 12.6 --format pyproject -o pyproject.toml
  envkit resolve --project . --gpu "GeForce RTX 5090\""""
)
@request_options
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    metavar="NAME",
    help=(
        f"Output format: {FORMATS[0]} or {FORMATS[1]} for the plan; {', '.join(FORMATS[2:-1])}, or {FORMATS[-1]} for "
        "only that tool's commands or dependency file. [default: text]"
    ),
)
@click.option("--container", is_flag=True, help="Plan for a container image; the driver stays on the host.")
@click.option("--verbose", "-v", is_flag=True, help="Also list the sources for each statement.")
def resolve(container: bool, verbose: bool, form: str | None, **given: Any) -> int:
    """Find compatible versions, or explain the conflict and suggest the closest alternatives.

    The plan ends with the commands that install it.
    """
    from envkit.base.settings import Mirrors
    from envkit.base.shown import shown_lines
    from envkit.solver.having import resolve_having as solve
    from envkit.solver.model import Plan
    from envkit.tables import Matrix

    options = plan_options(given)
    chosen = one_format(form, options.as_json, options.output, FORMATS)
    mirrors = Mirrors().with_options(options.mirrors, options.index_url)
    matrix = Matrix.load()
    requests, unknown = _known_part(options, matrix, container=container, alone=chosen != "text")
    if unknown is None:
        (request,) = requests
        plan = solve(request, matrix)
    else:
        from envkit.solver.not_covered_plan import plan_beside, plan_facts

        request, plan = plan_beside(unknown.text, requests, lambda one: solve(one, matrix))
        unknown.hint = " ".join((*plan_facts(unknown.text, options.words, plan), unknown.hint))
    if chosen == "json":
        write_output(plan_json(plan, mirrors), options.output)
    elif chosen == "text":
        write_output(shown_lines(_plan_text(plan, mirrors, verbose=verbose)), options.output)
    else:
        from envkit.render.plan_text import plan_summary

        say(plan_summary(plan, verbose=verbose))
        if isinstance(plan, Plan):
            from envkit.documents.packages import package_list
            from envkit.render.plans import formatted

            write_output(formatted(package_list(plan, mirrors, chosen, request.cuda), chosen), options.output)
    if unknown is not None:
        raise unknown
    return exit_code(plan)


def _known_part(
    options: PlanOptions, matrix: Matrix, *, container: bool, alone: bool
) -> tuple[Iterable[Request], UnknownFramework | None]:
    """The requests to try without software that the tables do not hold, and the error that it deserves.

    `alone`: programs read the answer, so nothing is left out of it. Raises RequestError or SourceError.
    """
    from envkit._startup.records import replace
    from envkit.base.errors import UnknownFramework

    try:
        return (request_from(options, matrix, container=container),), None
    except UnknownFramework as unknown:
        words = options.words
        rest = tuple(text for text in words.frameworks if text != unknown.text)
        if alone or len(rest) == len(words.frameworks) or not (rest or unknown.runs_on):
            raise
        if not rest:
            both = replace(words, frameworks=(*words.frameworks, unknown.runs_on))
            return _known_part(replace(options, words=both), matrix, container=container, alone=alone)
        fewer = replace(options, words=replace(words, frameworks=rest))
        requests, also = _known_part(fewer, matrix, container=container, alone=alone)
        if also is not None:
            also.hint = f"{also.hint} {unknown}"
            return requests, also
        from envkit.solver.not_covered_plan import words_to_try

        say(f"This is the answer without {unknown.text}; what is known of that follows.\n")
        made = (replace(options, words=one) for one in words_to_try(unknown, words))
        return (request_from(one, matrix, container=container) for one in made), unknown


def _plan_text(plan: Plan | NoPlan, mirrors: Mirrors, *, verbose: bool) -> str:
    from envkit.render.plan_text import plan_summary
    from envkit.solver.model import Plan

    if not isinstance(plan, Plan):
        return plan_summary(plan, verbose=verbose)
    from envkit.documents.commands import plan_commands
    from envkit.documents.setting import setting_of

    return plan_summary(plan, verbose=verbose, commands=plan_commands(plan, mirrors), setting=setting_of(plan))


def plan_json(plan: Plan | NoPlan, mirrors: Mirrors | None = None) -> str:
    """The plan document of `interface.md` as text."""
    from envkit.base.json_text import dumps
    from envkit.documents.plan import plan_document

    return dumps(plan_document(plan, mirrors))


def exit_code(plan: Plan | NoPlan) -> int:
    """0 when a plan exists, 1 when none does."""
    from envkit.solver.model import Plan

    return 0 if isinstance(plan, Plan) else 1
