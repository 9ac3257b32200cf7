"""What else would work: the nearest plans of a request that has none, and what a change would bring to one that has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice

from envkit.plan.arrange import Arranger
from envkit.plan.candidates import Judge, gpu_builds
from envkit.plan.changes import COSTS, Change, changes_of, exactly, tried, with_spec
from envkit.plan.knowledge import Knowledge
from envkit.plan.model import Alternative, Choice
from envkit.plan.parts import Part, parts_of, without
from envkit.plan.relations import title_of
from envkit.plan.request import FrameworkRequest, Request
from envkit.plan.search import Selection, select

TRIES = 60  # changes tried for one part before it is given up
OFFERS = 2  # changes offered for one part: the nearest, and one in the other direction or further on


def rescues(request: Request, knowledge: Knowledge) -> tuple[Alternative, ...]:
    """The nearest plans: single changes, cheapest first; where none is enough, the cheapest combination of more."""
    parts = parts_of(request)
    single = [found for part in parts for found in islice(_working(part, request, knowledge), OFFERS)]
    if single:
        ranked = sorted(single, key=lambda found: found[0].cost)
        return tuple(_offer(change, selection) for change, selection in ranked)
    for size in range(2, len(parts) + 1):
        groups = sorted(combinations(parts, size), key=lambda group: sum(_cost(part) for part in group))
        combined = list(islice(_combined(groups, request, knowledge), OFFERS))
        if combined:
            return tuple(combined)
    return ()


def _working(part: Part, request: Request, knowledge: Knowledge) -> Iterator[tuple[Change, Selection]]:
    if select(Judge(without(request, [part]), knowledge)) is None:
        return  # with this part left open there is no plan either, so no value of it helps
    for change in islice(changes_of(part, request, knowledge), TRIES):
        selection = tried(change, knowledge)
        if selection is not None:
            yield change, selection


def _cost(part: Part) -> int:
    option = "minor" if part.option == "framework" else part.option
    return COSTS.index(option) if option in COSTS else len(COSTS)


def _offer(change: Change, selection: Selection) -> Alternative:
    return Alternative({change.option: change.value}, _gain(selection, change.request))


def _gain(selection: Selection, request: Request) -> str:
    if selection.builds:
        return "gives " + " and ".join(title_of(build) for build in selection.builds)
    toolkits = selection.toolkits or ()
    return f"gives CUDA {max(row.version for row in toolkits)}" if toolkits else f"meets {request.os_id}"


def _combined(groups: list[tuple[Part, ...]], request: Request, knowledge: Knowledge) -> Iterator[Alternative]:
    for group in groups:
        judge = Judge(loosened(request, group), knowledge)
        selection = select(judge)
        if selection is None:
            continue
        changes = _pinned(group, Arranger(selection, judge).choice(), request, knowledge)
        if len(changes) == len(group):
            final = tried(changes[-1], knowledge)
            if final is not None:
                yield Alternative(
                    {change.option: change.value for change in changes}, _gain(final, changes[-1].request)
                )


def loosened(request: Request, group: tuple[Part, ...]) -> Request:
    """The request with these parts open: a framework in any version, the others not asked for at all."""
    anything = {part.index for part in group if part.option == "framework"}
    frameworks = tuple(
        FrameworkRequest(item.name) if index in anything else item for index, item in enumerate(request.frameworks)
    )
    return replace(without(request, [part for part in group if part.option != "framework"]), frameworks=frameworks)


def _pinned(group: tuple[Part, ...], choice: Choice, request: Request, knowledge: Knowledge) -> list[Change]:
    """The parts set one after the other to what the open request chose; GPUs last, to the nearest that then works."""
    changes: list[Change] = []
    for part in sorted(group, key=lambda part: part.option == "gpu"):
        current = changes[-1].request if changes else request
        if part.option == "gpu":
            options = islice(changes_of(part, current, knowledge), TRIES)
            change = next((option for option in options if tried(option, knowledge) is not None), None)
        else:
            change = _chosen(part, choice, current)
        if change is not None:
            changes.append(change)
    return changes


def _chosen(part: Part, choice: Choice, request: Request) -> Change | None:
    """The change of one part to what was chosen when it was open; None where that says nothing."""
    cost = _cost(part)
    if part.option == "framework":
        wanted = FrameworkRequest(request.frameworks[part.index].name, exactly(choice.builds[part.index].version))
        items = (*request.frameworks[: part.index], wanted, *request.frameworks[part.index + 1 :])
        return Change(cost, "framework", str(wanted), replace(request, frameworks=items))
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
    line = version.release(2) if len(version.parts) > 1 else version
    return Change(cost, part.option, str(line), with_spec(request, part.option, exactly(line)))


IMPROVABLE = ("cuda", "cudnn", "python", "driver", "os")


def improvements(request: Request, choice: Choice, knowledge: Knowledge) -> tuple[Alternative, ...]:
    """The single changes that would bring a newer version of a framework, and which."""
    if not any(_could_be_newer(index, choice, request, knowledge) for index in range(len(choice.builds))):
        return ()
    found = (_improvement(part, request, choice, knowledge) for part in parts_of(request) if part.option in IMPROVABLE)
    return tuple(alternative for alternative in found if alternative is not None)


def _could_be_newer(index: int, choice: Choice, request: Request, knowledge: Knowledge) -> bool:
    spec = request.frameworks[index].spec
    versions = (build.version for build in gpu_builds(knowledge.tables.builds(request.frameworks[index].name)))
    return choice.builds[index].version < max(version for version in versions if spec is None or spec.holds(version))


def _improvement(part: Part, request: Request, choice: Choice, knowledge: Knowledge) -> Alternative | None:
    judge = Judge(loosened(request, (part,)), knowledge)
    selection = select(judge)
    if selection is None:
        return None
    better = Arranger(selection, judge).choice()
    pairs = list(zip(better.builds, choice.builds, strict=True))
    if not any(new.version > old.version for new, old in pairs) or any(new.version < old.version for new, old in pairs):
        return None
    change = _chosen(part, better, request)
    final = tried(change, knowledge) if change is not None else None
    if change is None or final is None or [b.version for b in final.builds] != [b.version for b in better.builds]:
        return None
    gains = [f"{title_of(new)} instead of {old.version}" for new, old in pairs if new.version > old.version]
    return Alternative({change.option: change.value}, "; ".join(gains))
