"""A fleet's report in Markdown: causes, drift and who was not judged, for an issue or a wiki."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.evidence import many
from envkit.fleet.model import Cluster, Drift, FleetReport
from envkit.fleet.names import listed
from envkit.fleet.report import headline, not_judged
from envkit.render.fleet_words import compared, expectation, explained, gap_words, left_words, shared_words
from envkit.render.markdown_text import code, fenced, prose
from envkit.render.reports import Look


def report(fleet: FleetReport, look: Look) -> str:
    """One heading for the fleet, one paragraph and list for each cause."""
    lines = [f"### envkit fleet · {prose(headline(fleet))}", ""]
    for cluster in fleet.causes:
        lines += [*_cause(cluster), ""]
    if fleet.drift:
        lines += [
            f"#### Drift {prose(compared(fleet))}",
            "",
            *(line for item in fleet.drift for line in _drift(item)),
            "",
        ]
    lines += [f"{prose(gap_words(fleet, gap))}: {code(listed(gap.hosts))}\n" for gap in fleet.gaps]
    left = not_judged(fleet)
    if left:
        lines += ["#### Not checked", ""]
        lines += [
            f"- {left_words(state, len(hosts))}: {prose(reason)} {code(listed(hosts))}" for state, reason, hosts in left
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _cause(cluster: Cluster) -> Iterator[str]:
    cause = cluster.cause
    count = many(len(cluster.hosts), "host")
    yield f"**{cluster.state.value.upper()}** {count}: {prose(cause.title)} {code(cause.id)}"
    yield ""
    yield f"- hosts: {code(listed(cluster.hosts))}"
    if cause.evidence:
        yield f"- seen: {code(cause.evidence)} at {code(cluster.example)}"
    for item in cluster.shared:
        yield f"- shared: {prose(shared_words(item))}"
    if cause.fix:
        yield f"- fix: {prose(cause.fix)}"
        if cause.commands:
            yield from ("", *fenced(cause.commands))


def _drift(item: Drift) -> Iterator[str]:
    must = "required, " if item.must else ""
    yield f"- {code(item.key)} of {code(item.group)}: {must}{prose(expectation(item))}"
    for other in item.others:
        yield f"  - {code(other.value)}: {code(listed(other.hosts))}{explained(other.because_of)}"
