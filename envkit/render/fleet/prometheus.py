"""A fleet's report for the textfile collector of Prometheus' node exporter, which itself tells when it was written.

When facts were collected may be long before: that is a gauge.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterator

from envkit.fleet.model import FleetReport
from envkit.fleet.report import counts
from envkit.render.fleet_words import COLUMNS
from envkit.render.gauges import Sample, gauges
from envkit.render.reports import Look

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_STATUS = {"warn": 1, "fail": 2, "error": 3}


def report(fleet: FleetReport, look: Look) -> str:
    """Gauges: hosts by state and the state of each, failed checks, causes, drift, the age of facts, properties."""
    told: list[tuple[str, str, list[Sample]]] = [
        (
            "envkit_hosts",
            "Hosts by state.",
            [({"state": state.value}, number) for state, number in counts(fleet).items()],
        ),
        (
            "envkit_host_state",
            "The state of each host; the value is always 1.",
            [({"host": host.name, "state": host.state.value}, 1) for host in fleet.hosts],
        ),
        (
            "envkit_check_status",
            "Checks that did not pass: 1 warning, 2 failure, 3 error in it.",
            list(_checks(fleet)),
        ),
        (
            "envkit_cause_hosts",
            "Hosts by cause.",
            [({"check": item.cause.id, "subject": item.cause.subject}, len(item.hosts)) for item in fleet.causes],
        ),
        ("envkit_drift_hosts", "Hosts that differ from the expected value, by trait.", list(_drift(fleet))),
        (
            "envkit_last_run_seconds",
            "When the facts of a host were collected, in seconds since 1970.",
            [({"host": host.name}, at) for host in fleet.hosts if (at := _seconds(host.collected_at)) is not None],
        ),
        (
            "envkit_info",
            "Properties of a host; the value is always 1.",
            [
                ({"host": host.name, **{key: host.traits.get(key, "") for key in COLUMNS}}, 1)
                for host in fleet.hosts
                if host.judged
            ],
        ),
    ]
    return gauges(told)


def _checks(fleet: FleetReport) -> Iterator[Sample]:
    for host in fleet.hosts:
        worst: dict[str, int] = {}
        for status, check in host.troubles:
            worst[check] = max(worst.get(check, 0), _STATUS[status])
        yield from (({"host": host.name, "check": check}, number) for check, number in worst.items())


def _drift(fleet: FleetReport) -> Iterator[Sample]:
    for item in fleet.drift:
        if item.expected:
            yield {"group": item.group, "key": item.key}, sum(len(other.hosts) for other in item.others)


def _seconds(collected_at: str) -> int | None:
    """The time as Prometheus has it; None for one that is not known, or is no time."""
    try:
        return calendar.timegm(time.strptime(collected_at, _TIME))
    except ValueError:
        return None
