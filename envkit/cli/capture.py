"""`envkit capture`: a masked record of this machine, for replay."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  envkit capture my-machine
  envkit doctor --from my-machine"""
)
@click.argument("directory", type=click.Path(file_okay=False))
def capture(directory: str) -> None:
    """Record this machine in DIRECTORY, with serials, UUIDs, host and user names masked, and print its path."""
    from envkit.host.local import LocalHost
    from envkit.probe.record import record

    click.echo(record(LocalHost(), directory))
