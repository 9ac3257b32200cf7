"""The JSON document of a fleet's report."""

from __future__ import annotations

from envkit.base.json_text import dumps
from envkit.documents.doctor import tool_document
from envkit.fleet.model import Cluster, Drift, FleetReport, HostResult
from envkit.fleet.report import counts, headline
from envkit.render.reports import Look

SCHEMA = 1


def report(fleet: FleetReport, look: Look) -> str:
    """Keys schema, tool, headline, states, causes, drift, not_compared, hosts."""
    return dumps(
        {
            "schema": SCHEMA,
            "tool": tool_document(()),
            "headline": headline(fleet),
            "states": {state.value: number for state, number in counts(fleet).items()},
            "causes": [_cause(cluster) for cluster in fleet.causes],
            "baseline": fleet.baseline,
            "drift": [_drift(item) for item in fleet.drift],
            "not_compared": fleet.alone,
            "hosts": [_host(host, fleet) for host in fleet.hosts],
        }
    )


def _cause(cluster: Cluster) -> dict[str, object]:
    cause = cluster.cause
    return {
        "id": cause.id,
        "status": cluster.state.value,
        "title": cause.title,
        "subject": cause.subject,
        "confidence": cause.confidence,
        "count": len(cluster.hosts),
        "hosts": list(cluster.hosts),
        "example": {"host": cluster.example, "evidence": cause.evidence},
        "remedy": {"summary": cause.fix, "commands": list(cause.commands)} if cause.fix else None,
        "shared": [
            {
                "key": item.key,
                "value": item.value,
                "inside": item.inside,
                "outside": item.outside,
                "others": item.others,
            }
            for item in cluster.shared
        ],
    }


def _drift(item: Drift) -> dict[str, object]:
    return {
        "group": item.group,
        "key": item.key,
        "expected": list(item.expected),
        "count": item.count,
        "total": item.total,
        "must": item.must,
        "others": [
            {"value": other.value, "hosts": list(other.hosts)}
            | ({"because_of": other.because_of} if other.because_of else {})
            for other in item.others
        ],
    }


def _host(host: HostResult, fleet: FleetReport) -> dict[str, object]:
    document: dict[str, object] = {"host": host.name, "state": host.state.value, "reason": host.reason}
    if host.cause is not None:
        document["id"] = host.cause.id
    if host.name in fleet.drifted:
        document["drifted"] = True
    if host.seconds is not None:
        document["seconds"] = host.seconds
    troubles = [{"status": status, "id": id} for status, id in host.troubles]
    return document | {"findings": troubles, "traits": dict(host.traits)}
