"""Hosts with the same cause in one cluster, and what these hosts have in common that others have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from envkit.fleet.model import Cluster, HostResult, Shared, State
from envkit.fleet.traits import GROUP, SEPARATOR

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
    everywhere, knowing = _counts(judged), _knowing(judged)
    ordered = sorted(by_cause.items(), key=lambda item: (item[0][0] is not State.FAIL, -len(item[1]), item[0][1:]))
    return tuple(_cluster(members, everywhere, knowing) for _, members in ordered)


def _cluster(
    members: Sequence[HostResult], everywhere: Mapping[str, Counter[str]], knowing: Mapping[str, int]
) -> Cluster:
    example = members[0]
    assert example.cause is not None
    names = tuple(host.name for host in members)
    return Cluster(example.state, example.cause, names, example.name, tuple(_shared(members, everywhere, knowing)))


def _counts(hosts: Iterable[HostResult]) -> dict[str, Counter[str]]:
    """How many hosts have each value of each trait; of the groups that a host is in, each is a value."""
    counts: dict[str, Counter[str]] = {}
    for host in hosts:
        for key, value in host.traits.items():
            counts.setdefault(key, Counter()).update(value.split(SEPARATOR) if key == GROUP else (value,))
    return counts


def _knowing(hosts: Iterable[HostResult]) -> Counter[str]:
    """Of how many hosts each trait is known."""
    return Counter(key for host in hosts for key in host.traits)


def _shared(
    members: Sequence[HostResult], everywhere: Mapping[str, Counter[str]], knowing: Mapping[str, int]
) -> list[Shared]:
    """What all members have as far as it is known, of at least three, and few others; the rarest outside first."""
    found = []
    known = _knowing(members)
    for key, values in _counts(members).items():
        others = knowing[key] - known[key]
        for value, inside in values.items():
            outside = everywhere[key][value] - inside
            if inside == known[key] >= _FEWEST and others and outside * _LIFT <= others:
                found.append(Shared(key, value, inside, outside, others))
    found.sort(key=lambda item: (item.outside / item.others, -item.inside))
    return found[:_MOST_SHARED]
