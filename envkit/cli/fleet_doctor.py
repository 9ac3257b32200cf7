"""`envkit fleet doctor`: collect from every host of an inventory, judge here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envkit.cli.complete import complete_file
from envkit.cli.fleet_options import asked, report_options, reported
from envkit.cli.output import jobs_option, refuse_unwritable, say

if TYPE_CHECKING:
    from envkit.fleet.playbook import Run
    from envkit.host.run_folder import RunFolder


@click.command(
    epilog="""\b
Examples:
  envkit fleet doctor -i hosts.ini --out monday
  envkit fleet doctor -i node1,node2 --out run -o fleet.html
  envkit fleet doctor -i hosts.ini --out monday --resume
  sinfo -hN -o %N | envkit fleet doctor -i - --out run"""
)
@click.option(
    "-i",
    "--inventory",
    required=True,
    metavar="FILE|A,B,...|-",
    shell_complete=complete_file,
    help="An Ansible inventory, comma-separated host names, or - for names on standard input.",
)
@click.option("-l", "--limit", default="", metavar="PATTERN", help="Query only these hosts from the inventory.")
@click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Keep the results in DIR.")
@click.option("--resume", is_flag=True, help="Query only the hosts that have no result in DIR yet.")
@click.option(
    "--forks",
    type=click.IntRange(1, 1000),
    metavar="N",
    default=50,
    show_default=True,
    help="How many hosts to query at the same time.",
)
@click.option(
    "--host-limit",
    type=click.IntRange(5, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Time limit per host.",
)
@click.option("--become", is_flag=True, help="Become root on the hosts.")
@click.option("-K", "--ask-become-pass", is_flag=True, help="Ask for the password to become root.")
@jobs_option
@report_options
def doctor(
    inventory: str,
    limit: str,
    out: str,
    resume: bool,
    forks: int,
    host_limit: int,
    become: bool,
    ask_become_pass: bool,
    jobs: int | None,
    **given: Any,
) -> int:
    """Diagnose every host in an inventory and combine the results into one report.

    Ansible connects to the hosts. It only collects facts; nothing is installed or left behind. On a host without
    Python 3.10, a shell script collects them.
    """
    options = asked(given)
    refuse_unwritable(options.output, "--output")  # before the hosts are asked
    from envkit.cli.judging import judged
    from envkit.fleet.playbook import Run
    from envkit.host.run_folder import run_folder

    forwarded = (*(["--become"] if become else []), *(["--ask-become-pass"] if ask_become_pass else []))
    with run_folder(out, resume) as folder:
        _collect(folder, Run(_inventory(inventory), limit, forks, host_limit, forwarded))
        return reported(judged([out], mask=options.mask, jobs=jobs), options)


_OF_INVENTORIES = (".ini", ".yml", ".yaml", ".json", ".cfg", ".txt", ".toml", ".py", ".sh")  # no host is called so


def _inventory(given: str) -> str:
    import os
    import sys

    from envkit.base.errors import RequestError
    from envkit.fleet.playbook import inventory_of

    if given == "-":
        return inventory_of(sys.stdin.read().split())
    if "," in given and os.sep not in given:  # names, as for Ansible, whatever a file in the working folder is called
        return inventory_of([name.strip() for name in given.split(",") if name.strip()])
    if os.path.exists(given):
        return os.path.abspath(given)
    if os.sep in given or given.endswith(_OF_INVENTORIES):
        raise RequestError(f"--inventory: {given} does not exist.", "Give a file, or comma-separated host names.")
    return inventory_of([given.strip()])


def _collect(folder: RunFolder, run: Run) -> None:
    """Raises EnvkitError where no host was reached for, with what Ansible said."""
    import json
    import os

    from envkit import __version__
    from envkit.base.errors import RequestError
    from envkit.fleet.playbook import ARRIVED, DONE, ZIPAPP, asked_hosts, command, variables
    from envkit.host.ansible import ansible_playbook, run_ansible
    from envkit.host.bundle import bundle
    from envkit.host.run_folder import file_name
    from envkit.ingest.hosts import RUN
    from envkit.render.fleet_files import write_playbook

    program = ansible_playbook()
    place = os.path.abspath(folder.path)
    engine = f"{place}/engine"
    _keep_arrived(folder, run.host_limit)
    done = folder.names()
    about = {"schema": 1, "envkit": __version__, "inventory": run.inventory}
    folder.write(RUN, json.dumps(about))
    folder.write(f"engine/{DONE}", json.dumps({"envkit_done": done}))
    write_playbook(lambda name, text: folder.write(f"engine/{name}", text))
    bundle(f"{engine}/{ZIPAPP}")
    own = variables(os.environ, engine) | {"ENVKIT_ARRIVED": f"{place}/{ARRIVED}"}

    def told(line: str) -> None:
        hosts = asked_hosts(line)
        if hosts:  # who gives no answer is then known even where Ansible is killed
            folder.write(RUN, json.dumps(about | {"asked": {file_name(host): host for host in hosts}}))
        _keep_arrived(folder, run.host_limit)

    code, said = run_ansible(command(program, run, engine, bool(done)), own, told)
    _keep_arrived(folder, run.host_limit)
    if not folder.has_results():
        raise RequestError("no host of this inventory and limit answered.", said or f"Ansible ended with {code}.")


def _keep_arrived(folder: RunFolder, limit_s: int) -> None:
    from envkit.fleet.playbook import ARRIVED
    from envkit.ingest.arrived import kept

    for event in folder.arrived(ARRIVED):
        document = kept(event, limit_s)
        folder.store(str(event["host"]), document)
        say(f"{event['host']}: {document.get('state') or 'collected'} after {event.get('seconds')} s")
