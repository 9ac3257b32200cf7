"""Checks of other distributions: loaded when the user asks for them, named in the report, each broken one alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.engine.evidence import many
from envkit.checks.engine.findings import Outcome, skip
from envkit.checks.engine.registry import Check, Layer, all_checks, registered_by
from envkit.checks.engine.runner import ADDRESS, guarded
from envkit.model import Environment
from envkit.model.paths import fact

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from envkit.tables import Matrix

GROUP = "envkit.checks"
_ID = regex(r"[a-z][a-z0-9.-]{1,79}")
_TIERS = tuple("FNXLCR")


@cache
def plugin_checks() -> dict[str, Check]:
    """The checks of every installed plug-in by id, and for each plug-in one that says what it adds or how it broke."""
    from importlib.metadata import entry_points  # slower than all checks together, and loaded with them

    known = all_checks()
    found: dict[str, Check] = {}
    for entry in entry_points(group=GROUP):
        found |= _checks_of(entry, known.keys() | found.keys())
    return found


def _checks_of(entry: EntryPoint, taken: set[str]) -> dict[str, Check]:
    label = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.name
    answer = guarded(lambda: _loaded(entry, label, taken))

    def loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
        """The plug-in can be loaded, and its checks have ids of their own."""
        if isinstance(answer, Outcome):
            yield answer
        else:
            yield skip(f"the plug-in {label} adds {many(len(answer), 'check')}")

    id = f"plugin-{normalized(entry.name)}"  # noqa: A001 - the field's own word in reports
    about = Check(id, "A plug-in cannot be loaded", Layer.PLACE, "F", loaded, plugin=label)
    return {id: about, **({} if isinstance(answer, Outcome) else answer)}


def _loaded(entry: EntryPoint, label: str, taken: set[str]) -> dict[str, Check]:
    own = registered_by(entry.load, label)
    if clash := taken & own.keys():
        raise ValueError(f"{', '.join(sorted(clash))} is already the id of another check")
    for check in own.values():
        _refuse_form(check)
    return own


def _refuse_form(check: Check) -> None:
    """Raises ValueError or AttributeError for a declaration that could not be sorted, met or explained."""
    words = (check.title, check.fix, *check.references, *check.explained_by)
    sound = all(isinstance(word, str) for word in words) and all(map(ADDRESS.fullmatch, check.references))
    if not (_ID.fullmatch(check.id) and sound):
        raise ValueError(f"{check.id!r} has no id, title or references of the right form")
    if not (isinstance(check.layer, Layer) and isinstance(check.rank, int) and check.tier in _TIERS):
        raise ValueError(f"{check.id} has a layer, a rank or a tier that does not exist")
    for path in (*check.needs, *check.any_of):
        fact(Environment(), path)
