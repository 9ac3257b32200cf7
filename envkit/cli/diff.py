"""`envkit diff OLD NEW`: what changed, and which change is behind what is broken now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from envkit.cli.complete import complete_file
from envkit.cli.output import output_option, write_output

if TYPE_CHECKING:
    from envkit.checks.engine.findings import Finding
    from envkit.comparison.culprits import Judged
    from envkit.model import Environment


@click.command(
    epilog="""\b
Examples:
  envkit diff capture-monday capture-today
  envkit diff before.json after.json --json
  envkit diff old-report.txt new-report.txt
  envkit probe --json | envkit diff before.json -""",
)
@click.argument("old", metavar="OLD", shell_complete=complete_file)
@click.argument("new", metavar="NEW", shell_complete=complete_file)
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
@click.option("--mask", is_flag=True, help="Redact host names, user names, addresses, and serial numbers.")
@click.option("--verbose", "-v", is_flag=True, help="List every change, and the facts that could not be compared.")
@output_option
def diff(old: str, new: str, as_json: bool, mask: bool, verbose: bool, output: str | None) -> int:
    """Show what changed between two machines or two points in time, most likely culprit first.

    OLD and NEW are each a capture directory, facts JSON, or saved text; one of them may be - for standard input. Exit
    status 1 means that NEW has a failure that OLD does not have, or that too little of NEW could be read to tell.
    """
    from envkit.api.report import judged
    from envkit.base.errors import RequestError
    from envkit.base.shown import inert
    from envkit.checks.engine.findings import Status
    from envkit.checks.engine.registry import all_checks
    from envkit.cli.environment import recorded
    from envkit.cli.terminal import paper
    from envkit.comparison.culprits import difference
    from envkit.documents.verdict import verdict
    from envkit.host.limits import FOREIGN_S, limited
    from envkit.tables import Matrix

    if old == new == "-":
        raise RequestError("OLD and NEW cannot both be standard input.", "Pass a file for one of them.")
    checks, matrix = all_checks(), Matrix.load()
    environments = [recorded(source, option) for source, option in ((old, "OLD"), (new, "NEW"))]
    with limited(f"{old}, {new}", FOREIGN_S):
        reports = [judged(environment, list(checks.values()), matrix, mask=mask) for environment in environments]
        sides = [(report.environment, report.findings) for report in reports]
        found = difference(sides[0], sides[1], checks)
        names = ("OLD", "NEW") if mask else (old, new)  # a path holds the names of users and hosts
        before, after = [_named(*side, name) for side, name in zip(sides, names, strict=True)]
        if as_json:
            from envkit.documents.difference import difference_json

            text = difference_json(before, after, found)
        else:
            from envkit.render.difference_text import difference_text

            page = paper(output is not None)
            shown = inert((before, after, found))
            text = page.fitted(difference_text(*shown, verbose=verbose, color=page.color, width=page.width))
    write_output(text, output)
    return int(found.worse or verdict(*sides[1]).status is Status.UNKNOWN)


def _named(environment: Environment, findings: Sequence[Finding], source: str) -> Judged:
    """A text by the name of its file, as it has none of its own."""
    from envkit._startup.records import replace

    if not environment.pasted:
        return environment, findings
    return replace(environment, origin="standard input" if source == "-" else source), findings
