"""A fleet's report for a terminal: the count, the causes with their fix, drift, and who was not judged."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.evidence import many
from envkit.checks.engine.findings import Status
from envkit.fleet.model import Cluster, Drift, FleetReport, State
from envkit.fleet.names import listed
from envkit.fleet.report import headline, not_judged
from envkit.render.fleet_words import compared, expectation, explained, gap_words, left_words, shared_words
from envkit.render.page import Page
from envkit.render.reports import Look

_VALUES = 4  # of a trait that differs, as many as a look takes in


def report(fleet: FleetReport, look: Look) -> str:
    """Everything about a few hosts, and of many what they have in common."""
    page = Page(look.width, look.color)
    lines = [page.head(headline(fleet)), ""]
    causes = [line for cluster in fleet.causes for line in (*_cause(cluster, page, verbose=look.verbose), "")]
    drifts = list(_drifts(fleet, page, verbose=look.verbose))
    lines += [*drifts, *causes] if fleet.drifted else [*causes, *drifts]
    for gap in fleet.gaps:
        lines += page.wrap(f"{gap_words(fleet, gap)}: {listed(gap.hosts)}", "  ", "")
    for state, reason, hosts in not_judged(fleet):
        lines += page.title(Status.UNKNOWN, f"{left_words(state, len(hosts))}: {reason or 'no reason given'}")
        lines += page.labeled("Hosts", listed(hosts))
    return "\n".join(lines).rstrip("\n") + "\n"


def _cause(cluster: Cluster, page: Page, *, verbose: bool) -> Iterator[str]:
    cause = cluster.cause
    status = Status.FAIL if cluster.state is State.FAIL else Status.WARN
    yield from page.title(status, f"{many(len(cluster.hosts), 'host')}: {cause.title}")
    yield from page.labeled("Hosts", listed(cluster.hosts))
    if cause.fix:
        yield from page.labeled("Fix", cause.fix)
        yield from page.commands(cause.commands)
    if cause.evidence:
        yield from page.cut("Evidence", f"{cause.evidence} ({cluster.example})")
    for number, item in enumerate(cluster.shared if verbose else cluster.shared[:2]):
        yield from page.labeled("Share" if number == 0 else "", shared_words(item))
    yield page.whole("See also", f"envkit explain {cause.id}")


def _drifts(fleet: FleetReport, page: Page, *, verbose: bool) -> Iterator[str]:
    group = ""
    for item in fleet.drift:
        if not (item.expected or verbose):
            continue
        if item.group != group:
            group = item.group
            yield page.head(f"Drift among hosts with {group} ({compared(fleet)})")
        yield from _drift(item, page)
    left = 0 if verbose else sum(not item.expected for item in fleet.drift)
    if left:
        yield from page.wrap(f"{many(left, 'trait')} without a majority; -v shows them.", "  ")
    if group or left:
        yield ""


def _drift(item: Drift, page: Page) -> Iterator[str]:
    mark = page.paint(" (required)", "31;1") if item.must else ""
    yield f"  {page.head(item.key)}{mark}: {expectation(item)}"
    for other in item.others[:_VALUES]:
        text = f"{other.value}: {listed(other.hosts)}{explained(other.because_of)}"
        yield from page.wrap(text, " " * 8, " " * 6)
    if len(item.others) > _VALUES:
        yield f"      and {many(len(item.others) - _VALUES, 'more value')}"
