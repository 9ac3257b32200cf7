"""Asks the hosts of an inventory through Ansible and keeps what they answer in the folder of the run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit import __version__
from envkit.base.errors import EnvkitError, OutputError, RequestError
from envkit.base.shown import shown
from envkit.cli.output import say
from envkit.fleet.playbook import ARRIVED, DONE, ZIPAPP, asked_hosts, command, unmatched, variables, without_mark
from envkit.host.ansible import run_ansible
from envkit.host.bundle import bundle
from envkit.host.run_folder import file_name
from envkit.ingest.arrived import kept
from envkit.ingest.hosts import RUN
from envkit.render.fleet_files import write_playbook

if TYPE_CHECKING:
    from envkit.fleet.playbook import Run
    from envkit.host.run_folder import RunFolder

_LONGEST = 300  # characters of what Ansible said


def collect(folder: RunFolder, run: Run, program: str) -> None:
    """Raises EnvkitError where no host answered, with what Ansible said; what came before an interruption is kept."""
    place = os.path.abspath(folder.path)
    engine = f"{place}/engine"
    keep_arrived(folder, run.host_limit)
    done = folder.names()
    about = {"schema": 1, "envkit": __version__, "inventory": run.inventory}
    folder.write(RUN, json.dumps(about))
    folder.write(f"engine/{DONE}", json.dumps({"envkit_done": done}))
    write_playbook(lambda name, text: folder.write(f"engine/{name}", text))
    try:
        bundle(f"{engine}/{ZIPAPP}")
    except OSError as error:
        raise OutputError(
            f"cannot write {engine}: {error.strerror}.", "Choose another directory with --out."
        ) from error
    own = variables(os.environ, engine, run.config) | {"ENVKIT_ARRIVED": f"{place}/{ARRIVED}"}
    asked: list[str] = []

    def told(line: str) -> None:
        hosts = asked_hosts(line)
        if hosts:  # who gives no answer is then known even where Ansible is killed
            asked.extend(hosts)
            folder.write(RUN, json.dumps(about | {"asked": {file_name(host): host for host in hosts}}))
        keep_arrived(folder, run.host_limit)

    code, said = run_ansible(command(program, run, engine, bool(done)), own, told, run.patience_s)
    keep_arrived(folder, run.host_limit)
    if code is None:
        say(f"Ansible waited more than {run.patience_s} s for an answer and was stopped; --resume queries the others.")
    if not folder.has_results():
        raise _nobody(run, asked, code, said)
    for pattern in unmatched(said):
        say(f"No host of the inventory matches {shown(pattern)}.")


def keep_arrived(folder: RunFolder, limit_s: int) -> None:
    """Turns what Ansible left into results, and tells each."""
    for event in folder.arrived(ARRIVED):
        document = kept(event, limit_s)
        folder.store(str(event["host"]), document)
        say(f"{shown(str(event['host']))}: {document.get('state') or 'collected'} after {event.get('seconds')} s")


def _nobody(run: Run, asked: Sequence[str], code: int | None, said: Sequence[str]) -> EnvkitError:
    """Why there is no result. The first thing that Ansible said names the cause, its last lines follow from it."""
    first = shown(without_mark(said[0]))[:_LONGEST] if said else f"it ended with status {code}"
    if asked:
        return EnvkitError("Ansible ended before any host answered.", f"It said: {first}")
    if code and not unmatched(said):
        return RequestError("Ansible cannot use this inventory or configuration.", f"It said: {first}")
    if run.limit:
        return RequestError(f"--limit: no host of the inventory matches {shown(run.limit)}.")
    return RequestError("--inventory: it lists no hosts.", f"Ansible said: {first}" if said else "")
