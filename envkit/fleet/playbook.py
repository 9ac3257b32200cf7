"""The files of the Ansible playbook that collects a fleet's facts, and how Ansible is called with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import RequestError

PLAYBOOK, CONFIG, PLUGIN, COLLECTOR = "playbook.yml", "ansible.cfg", "envkit_results.py", "collect.sh"
ZIPAPP, DONE, ARRIVED = "envkit.pyz", "done.json", "arrived"
PLACES = {PLAYBOOK: PLAYBOOK, CONFIG: CONFIG, PLUGIN: f"callback_plugins/{PLUGIN}", COLLECTOR: COLLECTOR}
_BEYOND_S = 60  # that a task has beyond the host's own limit, as in the playbook
_MARK = regex(r"^\[(?:WARNING|ERROR)\]: |^ERROR! ")
_UNMATCHED = regex(r"Could not match supplied host pattern, ignoring: (.{1,300})")
_NAME = regex(r"[^\W_][\w.@:-]{0,254}")


@record
class Run:
    """What a person asks of a run; `forwarded` are options that Ansible gets as they are, `config` its settings."""

    inventory: str
    limit: str = ""
    forks: int = 50
    host_limit: int = 60
    forwarded: tuple[str, ...] = ()
    config: str = ""

    @property
    def patience_s(self) -> int:
        """The longest that a running playbook can be silent: one host after the other with both of its collectors."""
        return 2 * (self.host_limit + _BEYOND_S) + _BEYOND_S


def command(program: str, run: Run, folder: str, done: bool) -> list[str]:
    """The words that start Ansible; `folder` holds the playbook, `done` says whether hosts are to be left out."""
    words = [
        program, f"{folder}/{PLAYBOOK}", f"--inventory={run.inventory}", f"--forks={run.forks}",
        "--extra-vars", f'{{"envkit_limit": {run.host_limit}}}',
    ]  # fmt: skip
    words += ["--extra-vars", f"@{folder}/{DONE}"] if done else []
    words += [f"--limit={run.limit}"] if run.limit else []
    return [*words, *run.forwarded]


def asked_hosts(line: str) -> list[str]:
    """The hosts that Ansible is about to ask, in the line with which its plug-in tells them; none in another line."""
    try:
        event = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return []
    hosts = event.get("hosts") if event.get("event") == "asked" else None
    return [host for host in hosts if isinstance(host, str)] if isinstance(hosts, list) else []


def unmatched(said: Sequence[str]) -> list[str]:
    """The parts of a limit that no host matches, in what Ansible said."""
    return [found[1] for line in said if (found := _UNMATCHED.fullmatch(without_mark(line)))]


def without_mark(line: str) -> str:
    """What Ansible says, without the word that says how bad it is."""
    return _MARK.sub("", line)


def variables(own: Mapping[str, str], folder: str, config: str = "") -> dict[str, str]:
    """The environment of Ansible: our configuration, or that of `config` with ours above it; none of another place."""
    ours = {"ANSIBLE_CONFIG": config, **_needed(folder)} if config else {"ANSIBLE_CONFIG": f"{folder}/{CONFIG}"}
    return {**own, **ours, "PYTHONWARNINGS": "ignore", "ANSIBLE_FORCE_COLOR": "0"}


def _needed(folder: str) -> dict[str, str]:
    """What the results need, whatever a configuration says: variables are above it."""
    return {
        "ANSIBLE_CALLBACK_PLUGINS": f"{folder}/callback_plugins",
        "ANSIBLE_STDOUT_CALLBACK": PLUGIN.removesuffix(".py"),
        "ANSIBLE_SSH_USETTY": "0",
        "ANSIBLE_INVENTORY_UNPARSED_FAILED": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "ANSIBLE_NOCOWS": "1",
    }


def inventory_of(names: Sequence[str]) -> str:
    """Names as an inventory of one line. Raises RequestError for none, and for what is not a name of a host."""
    if not names:
        raise RequestError("--inventory: no host was given.", "Pass an inventory file, or comma-separated host names.")
    for name in names:
        if not _NAME.fullmatch(name):
            raise RequestError(
                f"--inventory: {name[:80]!r} is not a host name.",
                "Put a host with an unusual name in an inventory file.",
            )
    return ",".join(names) + ","
