"""Where machines differ from their like: from what most of them have, or from what a baseline expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envkit.fleet.baseline import Baseline
from envkit.fleet.model import Drift, HostResult, Value
from envkit.fleet.traits import GPU, KEYS, NONE

FEWEST = 3  # hosts that have to know a trait before most of them mean anything
ALIKE = (
    GPU,
    "architecture",
)  # what makes two machines comparable; how many GPUs is left to drift, so that a lost one shows

Groups = dict[tuple[str, ...], list[HostResult]]


def groups(hosts: Iterable[HostResult], keys: Sequence[str] = ALIKE) -> Groups:
    """The judged hosts by what makes them comparable; one of which that is not known is in no group."""
    found: Groups = {}
    for host in hosts:
        values = tuple(host.traits.get(key, "") for key in keys)
        if host.judged and all(values):
            found.setdefault(values, []).append(host)
    return found


def by_majority(found: Groups, alike: Sequence[str]) -> Iterator[Drift]:
    """The traits in which the hosts of a group differ. A value that more than half of them have is the expected one.

    Unknown is no value, and below three that know it nothing is said.
    """
    keys = [key for key in KEYS if key not in alike]
    for values, members in found.items():
        for key in keys:
            by_value = _by_value(members, key)
            total = sum(map(len, by_value.values()))
            if total < FEWEST or len(by_value) < 2:
                continue
            common = majority({value: len(hosts) for value, hosts in by_value.items()})
            expected = () if common is None else (common,)
            count = 0 if common is None else len(by_value[common])
            yield Drift(_called(values, alike), key, expected, count, total, _others(by_value, expected, key))


def majority(counts: Mapping[str, int]) -> str | None:
    """The value that more than half of the hosts have that know the trait, None where no value is so common."""
    common = max(counts, key=counts.__getitem__)
    return common if 2 * counts[common] > sum(counts.values()) else None


def by_baseline(found: Groups, baseline: Baseline, alike: Sequence[str]) -> Iterator[Drift]:
    """The traits in which hosts differ from what the baseline expects of machines like them."""
    for values, members in found.items():
        for key, wanted in baseline.expected(members[0].traits).items():
            by_value = _by_value(members, key)
            fitting = tuple(value for value in by_value if wanted.holds(value))
            if len(fitting) == len(by_value):
                continue
            count = sum(len(by_value[value]) for value in fitting)
            others = _others(by_value, fitting, key)
            total = sum(map(len, by_value.values()))
            yield Drift(_called(values, alike), key, wanted.words, count, total, others, key in baseline.must)


def _called(values: Sequence[str], alike: Sequence[str]) -> str:
    """The group by what its machines have, behind "hosts with"."""
    pairs = zip(alike, values, strict=True)
    return " / ".join(value if value != NONE else f"no {'GPU' if key == GPU else key}" for key, value in pairs)


def _by_value(members: Iterable[HostResult], key: str) -> dict[str, list[HostResult]]:
    by_value: dict[str, list[HostResult]] = {}
    for host in members:
        if key in host.traits:
            by_value.setdefault(host.traits[key], []).append(host)
    return by_value


def _others(by_value: dict[str, list[HostResult]], expected: Sequence[str], key: str) -> tuple[Value, ...]:
    """The values that are not expected, the most frequent first, apart where a failing check explains them."""
    found: dict[tuple[str, str], list[str]] = {}
    for value, members in by_value.items():
        if value not in expected:
            for host in members:
                found.setdefault((value, host.explained.get(key, "")), []).append(host.name)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Value(value, tuple(names), because) for (value, because), names in ordered)
