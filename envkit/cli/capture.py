"""`envkit capture`: a masked record of this machine, for replay."""

from __future__ import annotations

import click

from envkit.cli.output import timeout_option


@click.command(
    epilog="""\b
Examples:
  envkit capture my-machine
  envkit doctor --from my-machine"""
)
@click.argument("directory", type=click.Path(file_okay=False))
@timeout_option
def capture(directory: str, timeout: float | None) -> None:
    """Record this machine in DIRECTORY, with serials, UUIDs, host and user names masked, and print its path."""
    from envkit.cli.environment import say
    from envkit.host.local import LocalHost
    from envkit.probe.record import record

    click.echo(record(LocalHost(), directory, timeout, say))
