"""A fleet's report as a shell script that writes each host's state to its Kubernetes node: a label and a condition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from shlex import quote

from envkit.fleet.model import FleetReport, HostResult, State
from envkit.fleet.report import in_doubt, is_node
from envkit.render.reports import Look

_HEAD = """#!/bin/sh
# Gives each node the state in `envkit fleet report` as the label envkit/state and the condition GPUEnvironmentHealthy.
# Needs the rights to patch nodes and nodes/status, and a kubectl whose `patch` has --subresource.
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
ended=0
told() { # NODE STATE STATUS REASON MESSAGE, the last one as JSON
    kubectl label node "$1" "envkit/state=$2" --overwrite &&
        kubectl patch node "$1" --subresource=status --type=strategic --patch "{\\"status\\":{\\"conditions\\":[{\\
\\"type\\":\\"GPUEnvironmentHealthy\\",\\"status\\":\\"$3\\",\\"reason\\":\\"$4\\",\\"message\\":$5,\\
\\"lastHeartbeatTime\\":\\"$now\\",\\"lastTransitionTime\\":\\"$now\\"}]}}" || ended=1
}
"""
_LONGEST = 250


def report(fleet: FleetReport, look: Look) -> str:
    """One line for each host whose name can be a node's."""
    return _HEAD + "\n".join(_lines(fleet)) + "\nexit $ended\n"


def _lines(fleet: FleetReport) -> Iterator[str]:
    open_ones = in_doubt(fleet)
    for host in fleet.hosts:
        if not is_node(host.name):
            continue
        bad = host.state is State.FAIL
        known = host.judged and host.state is not State.UNKNOWN and host.name not in open_ones
        status = "False" if bad else "True" if known else "Unknown"
        words = (host.name, host.state.value, status, _reason(host, bad), json.dumps(host.reason[:_LONGEST]))
        yield " ".join(["told", *map(quote, words)])


def _reason(host: HostResult, bad: bool) -> str:
    """One word in the form that Kubernetes wants: `DriverLibraryMismatch`."""
    word = host.cause.id if host.cause else "drift" if bad else host.state.value
    return "".join(part.capitalize() for part in word.split("-"))
