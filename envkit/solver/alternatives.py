"""What else would work: the nearest plans of a request that has none, and what a change would bring to one that has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, islice

from envkit._startup.records import record, replace
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.compat.software import title_of
from envkit.solver.assemble import assemble
from envkit.solver.changes import (
    COSTS,
    Change,
    changes_of,
    companion_for,
    exactly,
    under_wsl,
    with_framework,
    with_spec,
    works,
)
from envkit.solver.doubts import SHARING, doubts_of
from envkit.solver.model import Alternative, Choice
from envkit.solver.parts import Part, parts_of, without
from envkit.solver.query import Query
from envkit.solver.request import Request
from envkit.solver.search import Selection, feasible, select

TRIES = 60  # changes tried for one part before it is given up
NEAR = 6  # changes that work, of which one that leaves nothing unknown is better than a nearer one
COMBINED = 2  # offers that change several parts at once
WITH_BEST = ("framework", "cuda", "cudnn", "python")  # parts whose best value is offered next to the nearest


@record
class Rescue:
    """Changes that together give a plan: its builds under the changed request, and what they leave unknown."""

    changes: tuple[Change, ...]
    selection: Selection
    query: Query
    doubts: tuple[str, ...]

    @property
    def last(self) -> Change:
        """The last of the changes; the only one of a single change."""
        return self.changes[-1]

    @property
    def offer(self) -> Alternative:
        """The rescue as it is offered, with what is not known of it."""
        gain = _gain(self.selection, self.query) + _not_known(self.doubts)
        return Alternative({change.option: change.value for change in self.changes}, gain)


def rescues(query: Query) -> tuple[Alternative, ...]:
    """The nearest plans: single changes, cheapest first; where none but another GPU is enough, the cheapest of more."""
    parts = parts_of(query.request)
    kept = [part for part in parts if part.option != "gpu"]
    found = _surest_of([rescue for part in kept for rescue in _single(part, query)])
    if found:
        return tuple(rescue.offer for rescue in sorted(found, key=lambda rescue: rescue.last.cost))
    # another GPU is no small change: it is offered where no other one is enough, next to what would do with this one
    gpus = (part for part in parts if part.option == "gpu")
    offers = [rescue.offer for part in gpus for rescue in _single(part, query)]
    kept = kept if offers else list(parts)
    for size in range(2, len(kept) + 1):
        apart = (group for group in combinations(kept, size) if len({part.option for part in group}) == size)
        groups = sorted(apart, key=lambda group: sum(_cost(part) for part in group))
        combined = _surest_of(list(islice(_combined(groups, query), COMBINED)))
        if combined:
            return (*(rescue.offer for rescue in combined), *offers)
    return tuple(offers)


def _surest_of(found: list[Rescue]) -> list[Rescue]:
    """Without those of which it is not known whether pip takes their packages together.

    What each framework takes by itself is said next to a refusal, and known to work.
    """
    return [rescue for rescue in found if SHARING not in rescue.doubts]


def _single(part: Part, query: Query) -> list[Rescue]:
    """The nearest change of one part that is enough, and the best one where that is another."""
    if not feasible(query.changed(without(query.request, [part]))):
        return []  # with this part left open there is no plan either, so no value of it helps
    options = islice(changes_of(part, query), TRIES)
    nearest = _surest((change for change in options if works(change, query)), query)
    if nearest is None or part.option not in WITH_BEST:
        return [nearest] if nearest else []
    best = _best(part, query)
    if best is None or best.value == nearest.last.value:
        return [nearest]
    return [rescue for rescue in (nearest, _tried([best], query)) if rescue is not None]


def _surest(working: Iterator[Change], query: Query) -> Rescue | None:
    """The nearest of the changes, or one of the next few that leaves less unknown."""
    found: list[Rescue] = []
    for change in islice(working, NEAR):
        rescue = _tried([change], query)
        if rescue is not None:
            found.append(rescue)
            if not rescue.doubts:
                break
    return min(found, key=lambda rescue: len(rescue.doubts), default=None)


def _tried(changes: list[Change], query: Query) -> Rescue | None:
    changed = query.changed(changes[-1].request)
    selection = select(changed)
    return Rescue(tuple(changes), selection, changed, doubts_of(selection.builds, changed)) if selection else None


def _best(part: Part, query: Query) -> Change | None:
    """The change of one part to what is best when it is left open; whether it works is not tried."""
    opened = query.changed(loosened(query.request, (part,)))
    selection = select(opened)
    return _chosen(part, assemble(selection, opened), query.request) if selection else None


def _cost(part: Part) -> int:
    option = "minor" if part.option == "framework" else part.option
    return COSTS.index(option) if option in COSTS else len(COSTS)


def _gain(selection: Selection, query: Query) -> str:
    if selection.builds:
        return series(title_of(build) for build in selection.builds)
    return f"CUDA {assemble(selection, query).cuda}"


def _not_known(doubts: Iterable[str]) -> str:
    listed = ", ".join(doubts)
    return f"; unknown: {listed}" if listed else ""


def _combined(groups: Iterable[tuple[Part, ...]], query: Query) -> Iterator[Rescue]:
    """What is nearest, where a framework is among the parts, and what is best with all of them open."""
    for group in groups:
        opened = query.changed(loosened(query.request, group))
        selection = select(opened)
        if selection is None:
            continue
        nearest = _with_nearest_framework(group, query)
        best = _all_pinned(group, assemble(selection, opened), query)
        values = None if nearest is None else [change.value for change in nearest.changes]
        yield from (nearest,) if nearest is not None else ()
        if best is not None and [change.value for change in best.changes] != values:
            yield best


def _with_nearest_framework(group: tuple[Part, ...], query: Query) -> Rescue | None:
    """The nearest release of the group's framework that works with its other parts open, and what those then are."""
    named = [part for part in group if part.option == "framework"]
    if len(named) != 1 or any(part.option == "gpu" for part in group):
        return None
    opened = query.changed(without(query.request, [part for part in group if part.option != "framework"]))
    working = (change for change in islice(changes_of(named[0], opened), TRIES) if works(change, opened))
    nearest = _surest(working, opened)
    return _all_pinned(group, assemble(nearest.selection, nearest.query), query) if nearest is not None else None


def _all_pinned(group: tuple[Part, ...], choice: Choice, query: Query) -> Rescue | None:
    changes = _pinned(group, choice, query)
    return _tried(changes, query) if len(changes) == len(group) else None


def loosened(request: Request, group: tuple[Part, ...]) -> Request:
    """The request with these parts open: a framework in any version, the others not asked for at all."""
    anything = {part.index for part in group if part.option == "framework"}
    frameworks = tuple(
        item.meeting(None) if index in anything else item for index, item in enumerate(request.frameworks)
    )
    return replace(without(request, [part for part in group if part.option != "framework"]), frameworks=frameworks)


def _pinned(group: tuple[Part, ...], choice: Choice, query: Query) -> list[Change]:
    """The parts set one after the other to what the open request chose; GPUs last, to the nearest that then works."""
    changes: list[Change] = []
    for part in sorted(group, key=lambda part: part.option == "gpu"):
        current = query.changed(changes[-1].request) if changes else query
        if part.option == "gpu":
            options = islice(changes_of(part, current), TRIES)
            change = next((option for option in options if works(option, query)), None)
        else:
            change = _chosen(part, choice, current.request)
        if change is not None:
            changes.append(change)
    return changes


def _chosen(part: Part, choice: Choice, request: Request) -> Change | None:
    """The change of one part to what was chosen when it was open; None where that says nothing."""
    cost = _cost(part)
    if part.option == "framework":
        asked, release = request.frameworks[part.index], choice.builds[part.index].version
        wanted = asked.meeting(exactly(release))
        value = companion_for(wanted, asked, release, request)
        return Change(cost, "framework", value, with_framework(request, part.index, wanted)) if value else None
    if part.option == "platform":
        return under_wsl(request) if request.platform == WINDOWS else None
    if part.option == "os":
        system = choice.os
        changed = replace(request, os_id=system.os_id, glibc=None) if system else request
        return Change(cost, "os", system.os_id, changed) if system else None
    if part.option == "driver":
        driver = choice.minimum_driver
        return Change(cost, "driver", str(driver), replace(request, driver=driver)) if driver else None
    lines = {"cuda": choice.cuda, "cudnn": choice.cudnn_version, "python": choice.python}
    version = lines.get(part.option)
    if version is None:
        return None
    return Change(cost, part.option, str(version.line), with_spec(request, part.option, exactly(version.line)))


IMPROVABLE = ("cuda", "cudnn", "python", "driver", "os", "platform")


def improvements(query: Query, choice: Choice) -> tuple[Alternative, ...]:
    """The single changes that would provide a newer version of a framework, and which."""
    parts = (part for part in parts_of(query.request) if part.option in IMPROVABLE)
    found = (_improvement(part, query, choice) for part in parts)
    return tuple(alternative for alternative in found if alternative is not None)


def _improvement(part: Part, query: Query, choice: Choice) -> Alternative | None:
    """The best value of one part where it makes a framework newer and none older."""
    change = _best(part, query)
    if change is None:
        return None
    changed = query.changed(change.request)
    final = select(changed)
    if final is None:
        return None
    pairs = list(zip(final.builds, choice.builds, strict=True))
    gains = [title_of(new) for new, old in pairs if new.version > old.version]
    worse = any(new.version < old.version for new, old in pairs)
    if worse or not gains:
        return None
    known = doubts_of(choice.builds, query)
    new = (doubt for doubt in doubts_of(final.builds, changed) if doubt not in known)
    return Alternative({change.option: change.value}, "; ".join(gains) + _not_known(new))
