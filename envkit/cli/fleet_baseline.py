"""`envkit fleet baseline`: the majority of a run as a file to edit."""

from __future__ import annotations

import click

from envkit.cli.complete import complete_file
from envkit.cli.output import jobs_option, output_option, write_output


@click.command(
    epilog="""\b
Examples:
  envkit fleet baseline run/ -o baseline.toml
  envkit fleet report run/ --baseline baseline.toml"""
)
@click.argument("sources", nargs=-1, required=True, metavar="DIR|FILE...", shell_complete=complete_file)
@jobs_option
@output_option
def baseline(sources: tuple[str, ...], jobs: int | None, output: str | None) -> None:
    """Write the values that most machines have to a file of expected values for --baseline.

    Edit the file: a machine that differs in a trait listed under `must` is reported as failed. A value can be a list
    or a range of versions.
    """
    from envkit.cli.judging import judged
    from envkit.render.fleet_baseline import baseline_toml

    write_output(baseline_toml(judged(sources, jobs=jobs)), output)
