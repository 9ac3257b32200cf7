"""Where machines differ from their like: from what most of them have, or from what a baseline expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envkit.base.sentences import series
from envkit.fleet.baseline import Baseline, Wanted
from envkit.fleet.model import Drift, Gap, HostResult, Value
from envkit.fleet.traits import COMPARED, GPU, NONE, trait_label

FEWEST = 3  # hosts that have to know a trait before most of them mean anything
ALIKE = (
    GPU,
    "architecture",
)  # what makes two machines comparable; how many GPUs is left to drift, so that a lost one shows

_REFINES = frozenset(("architecture",))  # may be unknown: the models of the GPUs say nearly as much

Groups = dict[tuple[str, ...], list[HostResult]]


def groups(hosts: Iterable[HostResult], keys: Sequence[str] = ALIKE) -> Groups:
    """The judged hosts by what makes them comparable, with '' for an architecture that is not known.

    A text from nvidia-smi never names it: such hosts are compared with each other. One of which anything else is not
    known is in no group.
    """
    found: Groups = {}
    for host in hosts:
        values = tuple(host.traits.get(key, "") for key in keys)
        if (
            host.judged
            and any(values)
            and all(value or key in _REFINES for key, value in zip(keys, values, strict=True))
        ):
            found.setdefault(values, []).append(host)
    return found


def majority_gaps(hosts: Sequence[HostResult], found: Groups, keys: Sequence[str]) -> tuple[Gap, ...]:
    """The judged hosts that could not be compared with others, by why."""
    grouped = {host.name for members in found.values() for host in members}
    few = [host.name for members in found.values() if len(members) < FEWEST for host in members]
    reasons: dict[str, list[str]] = (
        {f"fewer than {FEWEST} hosts have the same GPU and architecture": sorted(few)} if few else {}
    )
    for host in hosts:
        if host.judged and host.name not in grouped:
            unknown = series(trait_label(key) for key in keys if key not in host.traits)
            reasons.setdefault(f"{unknown} not known", []).append(host.name)
    return tuple(Gap(reason, tuple(names)) for reason, names in reasons.items())


def baseline_gaps(hosts: Iterable[HostResult], baseline: Baseline) -> tuple[Gap, ...]:
    """The judged hosts that the baseline could not be held against, or not where it demands something."""
    reasons: dict[tuple[str, bool], list[str]] = {}
    for host in hosts:
        if not host.judged:
            continue
        fits, expected = baseline.fits(host.traits), baseline.expected(host.traits)
        unknown = [key for key in expected if key in baseline.must and key not in host.traits]
        if fits is False:
            reasons.setdefault(("no [[machines]] matches", False), []).append(host.name)
        elif fits is None:
            reasons.setdefault(("not known which [[machines]] match", False), []).append(host.name)
        elif unknown:
            reasons.setdefault((f"required but unknown: {', '.join(unknown)}", True), []).append(host.name)
        elif expected and host.traits.keys().isdisjoint(expected):
            reasons.setdefault(("none of the expected traits is known", False), []).append(host.name)
    return tuple(Gap(reason, tuple(names), must) for (reason, must), names in reasons.items())


def by_majority(found: Groups, alike: Sequence[str]) -> Iterator[Drift]:
    """The traits in which the hosts of a group differ. A value that more than half of them have is the expected one.

    Unknown is no value, and below three that know it nothing is said.
    """
    keys = [key for key in COMPARED if key not in alike]
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


def by_baseline(hosts: Iterable[HostResult], baseline: Baseline, alike: Sequence[str]) -> Iterator[Drift]:
    """The traits in which hosts differ from what the baseline expects of each; the group is only a name."""
    found: dict[tuple[str, ...], dict[tuple[str, Wanted], list[HostResult]]] = {}
    for host in hosts:
        if host.judged:
            own = found.setdefault(tuple(host.traits.get(key, "") for key in alike), {})
            for item in baseline.expected(host.traits).items():
                own.setdefault(item, []).append(host)
    for values, asked in found.items():
        for (key, wanted), members in asked.items():
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
    return " / ".join(_part(key, value) for key, value in zip(alike, values, strict=True))


def _part(key: str, value: str) -> str:
    name = "GPU" if key == GPU else key
    return f"no {name}" if value == NONE else value or f"unknown {name}"


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
