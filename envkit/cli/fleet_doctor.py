"""`envkit fleet doctor`: collect from every host of an inventory, judge here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from envkit.cli.complete import complete_file
from envkit.cli.fleet_options import asked, report_options, reported
from envkit.cli.output import jobs_option, refuse_unwritable, say

if TYPE_CHECKING:
    from envkit.cli.fleet_options import ReportOptions
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
@click.option("-u", "--user", metavar="NAME", help="User to connect as, unless the inventory specifies one.")
@click.option(
    "--ansible-config",
    "config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    shell_complete=complete_file,
    help="Use the settings in this ansible.cfg, such as SSH options or a vault password file.",
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
    user: str | None,
    config: str | None,
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
    from envkit.fleet.playbook import Run
    from envkit.host.ansible import ansible_playbook
    from envkit.host.run_folder import run_folder

    forwarded = (*(["--become"] if become else []), *(["--ask-become-pass"] if ask_become_pass else []))
    forwarded += (f"--user={user}",) if user else ()
    run = Run(_inventory(inventory), limit, forks, host_limit, forwarded, os.path.abspath(config) if config else "")
    program = ansible_playbook()
    with run_folder(out, resume) as folder:
        return _reported_of(folder, run, program, options, jobs)


def _reported_of(folder: RunFolder, run: Run, program: str, options: ReportOptions, jobs: int | None) -> int:
    """Collects and reports; who interrupts gets the report of what came."""
    from envkit.cli.fleet_collect import collect, keep_arrived
    from envkit.cli.judging import judged

    try:
        collect(folder, run, program)
    except KeyboardInterrupt:
        keep_arrived(folder, run.host_limit)
        if folder.has_results():
            say("Interrupted. This is the report on the hosts that answered; --resume queries the others.")
            reported(judged([folder.path], mask=options.mask, jobs=jobs), options)
        raise
    return reported(judged([folder.path], mask=options.mask, jobs=jobs), options)


_OF_INVENTORIES = (".ini", ".yml", ".yaml", ".json", ".cfg", ".txt", ".toml", ".py", ".sh")  # no host is called so


def _inventory(given: str) -> str:
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
        raise RequestError(f"--inventory: {given} does not exist.", "Pass a file, or comma-separated host names.")
    return inventory_of([given.strip()])
