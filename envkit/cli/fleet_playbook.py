"""`envkit fleet playbook`: the Ansible playbook, to run by oneself."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  envkit fleet playbook -o collect
  (cd collect && ENVKIT_ARRIVED=arrived ansible-playbook -i ../hosts.ini playbook.yml)
  envkit fleet report collect/arrived"""
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write the playbook and what it needs to this new directory.",
)
def playbook(output: str) -> None:
    """Write the Ansible playbook that collects the facts of every host, to run it yourself.

    It changes nothing on the hosts and leaves nothing behind.
    """
    from envkit.cli.output import say
    from envkit.fleet.playbook import ZIPAPP
    from envkit.host.bundle import bundle
    from envkit.host.new_folder import new_folder
    from envkit.render.fleet_files import write_playbook

    with new_folder(output) as folder:
        write_playbook(lambda name, text: folder.write(name, text.encode()))
        bundle(f"{folder.path}/{ZIPAPP}")
    say(f"Wrote {output}.")
