"""`envkit fleet diff`: what changed between two runs."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_file
from envkit.cli.output import jobs_option, output_option, write_output


@click.command(
    epilog="""\b
Examples:
  envkit fleet diff monday/ tuesday/
  envkit fleet diff monday/ tuesday/ --json"""
)
@click.argument("old", metavar="OLD", shell_complete=complete_file)
@click.argument("new", metavar="NEW", shell_complete=complete_file)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@jobs_option
@output_option
def diff(old: str, new: str, as_json: bool, jobs: int | None, output: str | None) -> int:
    """Print what changed between two runs: hosts, states, and traits.

    The exit status is 1 if a machine is worse than before: it warns, fails, or could not be checked.
    """
    from envkit.cli.judging import judged
    from envkit.cli.terminal import paper
    from envkit.fleet.changes import fleet_changes
    from envkit.render.fleet_changes import changes_json, changes_text

    changes = fleet_changes(judged([old], jobs=jobs), judged([new], jobs=jobs))
    if as_json:
        text = changes_json(changes)
    else:
        page = paper(output is not None)
        text = page.fitted(changes_text(changes, page.width, page.color))
    write_output(text, output)
    return int(changes.worse)
