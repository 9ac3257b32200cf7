"""`envkit fleet`: the commands that are about many machines."""

from __future__ import annotations

import click

from envkit.cli.main import LazyGroup

COMMANDS = {
    "doctor": "Collect facts from every host in an inventory, and diagnose them all.",
    "report": "Combine captures, facts, and reports of many machines into one report.",
    "baseline": "Write the values that most machines have to a baseline file.",
    "diff": "Print what changed between two runs.",
    "playbook": "Write the Ansible playbook that collects the facts, so that you can run it yourself.",
    "kubernetes": "Write Kubernetes manifests that collect the facts of every GPU node.",
    "slurm": "Write a Slurm batch script that collects the facts, or a prolog that keeps jobs off broken nodes.",
}


@click.group(
    cls=LazyGroup,
    known=COMMANDS,
    modules="envkit.cli.fleet_",
    invoke_without_command=True,
    epilog="""\b
Examples:
  envkit fleet doctor -i hosts.ini --out monday
  envkit fleet report bug-reports/
  envkit fleet report run/ -o fleet.html
  envkit fleet baseline run/ -o baseline.toml
  envkit fleet diff monday/ tuesday/""",
)
@click.pass_context
def fleet(ctx: click.Context) -> None:
    """Diagnose many machines in one report.

    Which machines are broken, which are merely different, and what do the broken ones have in common?
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
