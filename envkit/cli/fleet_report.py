"""`envkit fleet report`: many machines, recorded anywhere, in one report."""

from __future__ import annotations

from typing import Any

import click

from envkit.cli.complete import complete_file
from envkit.cli.fleet_options import asked, report_options, reported
from envkit.cli.output import jobs_option


@click.command(
    epilog="""\b
Examples:
  envkit fleet report bug-reports/
  envkit fleet report run/ -o fleet.html
  envkit fleet report run/ --baseline baseline.toml --strict
  envkit fleet report run/ --nodes lists/
  envkit fleet report monday/ notes.txt --json --mask"""
)
@click.argument("sources", nargs=-1, required=True, metavar="DIR|FILE...", shell_complete=complete_file)
@jobs_option
@report_options
def report(sources: tuple[str, ...], jobs: int | None, **given: Any) -> int:
    """Combine what is known about many hosts into one report.

    In DIR, each capture, each facts file (envkit probe --json), each report (envkit doctor --json), and each text file
    is one machine; so is a directory of texts. Every machine is diagnosed again with the data of this envkit version.
    """
    options = asked(given)
    from envkit.cli.judging import judged

    return reported(judged(sources, mask=options.mask, jobs=jobs), options)
