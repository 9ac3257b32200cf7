"""What changed between two runs over a fleet: hosts that came or went, states, and traits that changed alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envkit._startup.records import record
from envkit.fleet.model import HostResult, State


@record
class Change:
    """The hosts that changed alike; `key` is `state` or a trait. The old state of a host that is new is ''."""

    key: str
    old: str
    new: str
    hosts: tuple[str, ...]


@record
class FleetChanges:
    """Two runs: hosts that only one of them has, and what changed of those in both, the most frequent first."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    states: tuple[Change, ...]
    traits: tuple[Change, ...]
    unchanged: int
    less_known: tuple[str, ...] = ()  # hosts of which the newer run does not tell a trait that the older one told

    @property
    def worse(self) -> bool:
        """True where a host is in a worse state than before, or new and not well."""
        return any(_rank(change.new) > _rank(change.old) for change in self.states)


_ORDER = (State.OK.value, State.WARN.value, State.UNKNOWN.value, State.FAIL.value)


def fleet_changes(old: Iterable[HostResult], new: Iterable[HostResult]) -> FleetChanges:
    """What is different in the newer run. A trait counts where both runs know it."""
    before, after = {host.name: host for host in old}, {host.name: host for host in new}
    both = sorted(before.keys() & after.keys())
    states: dict[tuple[str, str, str], list[str]] = {}
    traits: dict[tuple[str, str, str], list[str]] = {}
    changed: set[str] = set()
    less_known: list[str] = []
    for name in both:
        was, now = before[name], after[name]
        if _state(was) != _state(now):
            states.setdefault(("state", _state(was), _state(now)), []).append(name)
            changed.add(name)
        if now.judged and was.traits.keys() - now.traits.keys():
            less_known.append(name)
        for key in was.traits.keys() & now.traits.keys():
            if was.traits[key] != now.traits[key]:
                traits.setdefault((key, was.traits[key], now.traits[key]), []).append(name)
                changed.add(name)
    added = sorted(after.keys() - before.keys())
    for name in added:
        if after[name].state is not State.OK:
            states.setdefault(("state", "", _state(after[name])), []).append(name)
    return FleetChanges(
        tuple(added),
        tuple(sorted(before.keys() - after.keys())),
        _changes(states),
        _changes(traits),
        len(both) - len(changed.union(less_known)),
        tuple(less_known),
    )


def _state(host: HostResult) -> str:
    """The state with its cause: one failure in place of another is a change."""
    return f"{host.state.value} {host.cause.id}" if host.cause else host.state.value


def _rank(state: str) -> int:
    word = state.partition(" ")[0] or State.OK.value
    return _ORDER.index(word) if word in _ORDER else len(_ORDER)


def _changes(found: Mapping[tuple[str, str, str], Sequence[str]]) -> tuple[Change, ...]:
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Change(*key, tuple(names)) for key, names in ordered)
