"""The report of a fleet from its hosts: a pure function of their results and what they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.fleet.baseline import Baseline
from envkit.fleet.causes import clusters
from envkit.fleet.drift import ALIKE, baseline_gaps, by_baseline, by_majority, groups, majority_gaps
from envkit.fleet.model import Drift, FleetReport, Gap, HostResult, State
from envkit.fleet.traits import COUNT

MAJORITY, NOTHING = "majority", "none"
_NODE = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
_DOUBTFUL = frozenset((State.WARN, State.UNKNOWN))


def fleet_report(
    hosts: Iterable[HostResult], baseline: Baseline | None = None, *, compare: bool = True, alike: Sequence[str] = ALIKE
) -> FleetReport:
    """The hosts with their causes and their drift: from the baseline, or without one from the majority of their like.

    Without `compare` no drift is looked for.
    """
    named = tuple(sorted(hosts, key=lambda host: host.name))
    drift: tuple[Drift, ...] = ()
    gaps: tuple[Gap, ...] = ()
    if baseline is not None:
        drift, gaps = tuple(by_baseline(named, baseline, alike)), baseline_gaps(named, baseline)
    elif compare:
        found = groups(named, alike)
        drift, gaps = tuple(by_majority(found, alike)), majority_gaps(named, found, alike)
    broken, short = _broken(drift), _short(drift)
    named = tuple(_held_to(host, broken.get(host.name, ())) for host in named)
    named = tuple(_doubted(host, short.get(host.name, "")) for host in named)
    return FleetReport(
        named,
        clusters(named),
        tuple(sorted(drift, key=lambda item: (item.group, not item.expected))),
        frozenset(broken),
        baseline.name if baseline is not None else MAJORITY if compare else NOTHING,
        gaps,
        frozenset(short),
    )


def _broken(drift: Iterable[Drift]) -> dict[str, list[str]]:
    """In what each host differs from what a baseline demands."""
    found: dict[str, list[str]] = {}
    for item in drift:
        for value in item.others if item.must else ():
            words = f"{item.key} is {value.value}, but the baseline requires {series(item.expected, 'or')}"
            for name in value.hosts:
                found.setdefault(name, []).append(words)
    return found


def _held_to(host: HostResult, broken: Sequence[str]) -> HostResult:
    """A host that breaks what a baseline demands fails, and says in what, unless it fails for another reason."""
    if not broken or host.state is State.FAIL:
        return host
    return replace(host, state=State.FAIL, reason="; ".join(broken), cause=None)


def _short(drift: Iterable[Drift]) -> dict[str, str]:
    """The hosts that have fewer GPUs than most of their like, and the words for it: one may have been lost."""
    return {
        name: f"{value.value} GPUs, but {item.count} of {item.total} hosts like it have {item.expected[0]}"
        for item in drift
        if item.key == COUNT and len(item.expected) == 1 and item.expected[0].isdigit()
        for value in item.others
        if value.value.isdigit() and int(value.value) < int(item.expected[0])
        for name in value.hosts
    }


def _doubted(host: HostResult, words: str) -> HostResult:
    """A host on which nothing is wrong, except that a GPU may be missing: that is no health."""
    return replace(host, state=State.WARN, reason=words) if words and host.state is State.OK else host


def counts(report: FleetReport) -> dict[State, int]:
    """How many hosts ended in each state, all states present."""
    found = dict.fromkeys(State, 0)
    for host in report.hosts:
        found[host.state] += 1
    return found


def unproven(report: FleetReport) -> frozenset[str]:
    """The hosts of which a baseline demands something that is not known."""
    return frozenset(name for gap in report.gaps if gap.must for name in gap.hosts)


def in_doubt(report: FleetReport) -> frozenset[str]:
    """The hosts that nobody should call healthy yet: something is not known of them, or a GPU may be missing."""
    return unproven(report) | report.short


def exit_code(report: FleetReport, *, strict: bool) -> int:
    """1 where a host failed, was not judged, or does not show what a baseline demands; strict: or is not all well."""
    if any(host.state is State.FAIL or not host.judged for host in report.hosts) or unproven(report):
        return 1
    by_file = report.baseline not in (MAJORITY, NOTHING)
    doubtful = any(host.state in _DOUBTFUL for host in report.hosts) or (by_file and bool(report.gaps))
    return int(strict and (doubtful or any(item.expected for item in report.drift)))


def masked(hosts: Sequence[HostResult]) -> list[HostResult]:
    """The hosts under numbers instead of their names, in the order given."""
    width = len(str(len(hosts)))
    return [replace(host, name=f"host-{number:0{width}}") for number, host in enumerate(hosts, 1)]


def not_judged(report: FleetReport) -> list[tuple[State, str, tuple[str, ...]]]:
    """The hosts that were not judged, or not to an end, by state and reason, the most frequent first."""
    found: dict[tuple[State, str], list[str]] = {}
    for host in report.hosts:
        if not host.judged or host.state is State.UNKNOWN:
            found.setdefault((host.state, host.reason), []).append(host.name)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [(state, reason, tuple(names)) for (state, reason), names in ordered]


def headline(report: FleetReport) -> str:
    """The fleet in a line."""
    number = counts(report)
    judged = {State.OK: "ok", State.FAIL: "failed", State.WARN: "warned", State.UNKNOWN: "unknown"}
    words = [f"{number[state]:,} {word}" for state, word in judged.items() if number[state]]
    left = sum(not host.judged for host in report.hosts)
    words += [f"{left:,} not checked"] if left else []
    hosts = "1 host" if len(report.hosts) == 1 else f"{len(report.hosts):,} hosts"
    return f"{hosts}: {', '.join(words)}."


def is_node(name: str) -> bool:
    """True for a name that a scheduler takes for one node, and not for several or for an option."""
    return _NODE.fullmatch(name) is not None


def node_lists(report: FleetReport) -> dict[str, list[str]]:
    """The names of the hosts that pass, fail, and of which neither is known, as schedulers take them.

    A name that a scheduler would read as several, or as an option, is in none.
    """
    open_ones = in_doubt(report)
    lists: dict[str, list[str]] = {"passing": [], "failing": [], "unknown": []}
    for host in report.hosts:
        known = host.judged and host.state is not State.UNKNOWN and host.name not in open_ones
        if is_node(host.name):
            lists["failing" if host.state is State.FAIL else "passing" if known else "unknown"].append(host.name)
    return lists
