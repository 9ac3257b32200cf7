"""What changed between two runs over a fleet, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.base.json_text import dumps
from envkit.checks.engine.evidence import many
from envkit.fleet.changes import Change, FleetChanges
from envkit.fleet.names import listed
from envkit.fleet.traits import trait_label
from envkit.render.page import Page

SCHEMA = 1


def changes_text(changes: FleetChanges, width: int, color: bool) -> str:
    """Hosts that came or went, states, traits; each change with all hosts that made it."""
    page = Page(width, color)
    lines = []
    for title, names in (("New", changes.added), ("Gone", changes.removed)):
        lines += page.labeled(title, f"{many(len(names), 'host')}: {listed(names)}") if names else []
    for change in (*changes.states, *changes.traits):
        lines += page.wrap(f"{trait_label(change.key)}: {change.old or 'new'} \u2192 {change.new}", "    ", "  ")
        lines += page.wrap(f"{many(len(change.hosts), 'host')}: {listed(change.hosts)}", " " * 8, " " * 6)
    if changes.less_known:
        told = f"Less is known about {many(len(changes.less_known), 'host')} than before: {listed(changes.less_known)}"
        lines += page.wrap(told, "    ", "  ")
    lines.append(f"{many(changes.unchanged, 'host')} unchanged.")
    return "\n".join(lines) + "\n"


def changes_json(changes: FleetChanges) -> str:
    """Keys schema, added, removed, states, traits, unchanged, less_known."""
    return dumps(
        {
            "schema": SCHEMA,
            "added": list(changes.added),
            "removed": list(changes.removed),
            "states": list(_documents(changes.states)),
            "traits": list(_documents(changes.traits)),
            "unchanged": changes.unchanged,
            "less_known": list(changes.less_known),
        }
    )


def _documents(changes: Sequence[Change]) -> Iterator[dict[str, object]]:
    for item in changes:
        yield {"key": item.key, "old": item.old, "new": item.new, "hosts": list(item.hosts)}
