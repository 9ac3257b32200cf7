"""Hosts with the same cause in one cluster, and what these hosts have in common that others have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from envkit.fleet.model import Cluster, HostResult, Shared, State

_FEWEST = 3  # hosts of a cluster in which a common property can mean anything
_LIFT = 5  # the property has to be so many times as frequent in the cluster as outside
_MOST_SHARED = 5

_Key = tuple[State, str, str]


def clusters(hosts: Sequence[HostResult]) -> tuple[Cluster, ...]:
    """The causes, failures before warnings, the most frequent first; their hosts in the order given."""
    by_cause: dict[_Key, list[HostResult]] = {}
    for host in hosts:
        if host.cause is not None:
            by_cause.setdefault((host.state, host.cause.id, host.cause.subject), []).append(host)
    judged = [host for host in hosts if host.judged]
    everywhere = _counts(judged)
    ordered = sorted(by_cause.items(), key=lambda item: (item[0][0] is not State.FAIL, -len(item[1]), item[0][1:]))
    return tuple(_cluster(members, everywhere) for _, members in ordered)


def _cluster(members: Sequence[HostResult], everywhere: Mapping[str, Counter[str]]) -> Cluster:
    example = members[0]
    assert example.cause is not None
    names = tuple(host.name for host in members)
    return Cluster(example.state, example.cause, names, example.name, tuple(_shared(members, everywhere)))


def _counts(hosts: Iterable[HostResult]) -> dict[str, Counter[str]]:
    """How many hosts have each value of each trait."""
    counts: dict[str, Counter[str]] = {}
    for host in hosts:
        for key, value in host.traits.items():
            counts.setdefault(key, Counter())[value] += 1
    return counts


def _shared(members: Sequence[HostResult], everywhere: Mapping[str, Counter[str]]) -> list[Shared]:
    """What all members have as far as it is known, of at least three, and few others; the rarest outside first."""
    found = []
    for key, values in _counts(members).items():
        ((value, inside),) = values.most_common(1)
        outside = everywhere[key][value] - inside
        others = everywhere[key].total() - values.total()
        if len(values) == 1 and inside >= _FEWEST and others and outside * _LIFT <= others:
            found.append(Shared(key, value, inside, outside, others))
    found.sort(key=lambda item: (item.outside / item.others, -item.inside))
    return found[:_MOST_SHARED]
