"""`envkit fleet slurm`: a batch script that collects on every node it gets, or a prolog."""

from __future__ import annotations

import click

from envkit.cli.output import output_option


@click.command(
    epilog="""\b
Examples:
  envkit fleet slurm -o collect.sh && sbatch --nodes=8 collect.sh
  envkit fleet slurm --prolog -o /etc/slurm/envkit-prolog"""
)
@click.option(
    "--prolog",
    "as_prolog",
    is_flag=True,
    help=("Write a prolog instead, which keeps jobs off nodes that definitely have a failure."),
)
@output_option
def slurm(as_prolog: bool, output: str | None) -> None:
    """Write a Slurm batch script that collects the facts of the nodes of its job.

    Each node writes one file. Pass the directory to `envkit fleet report`.
    """
    from envkit.cli.output import write_output
    from envkit.render.cluster import batch_script, prolog

    write_output(prolog() if as_prolog else batch_script(), output)
