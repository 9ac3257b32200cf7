"""Undoes what a fix changed among a Python's packages, and nothing that somebody installed or changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envkit.base.names import requirement_name
from envkit.host import repairs
from envkit.host.repairs import Work
from envkit.repair.steps import Kind
from envkit.repair.undo import AS_IT_WAS, CHANGED_SINCE, Undo

_Entry = Mapping[str, Any]


def undo_packages(first: _Entry, entries: Sequence[_Entry], indexes: Mapping[str, str]) -> Undo:
    """All steps of the fix on the Python of its `first` step, undone in one; the rest that differs is named."""
    before = _by_name(first["before"]["packages"])
    now = _by_name(repairs.packages_of(first["words"]))
    left, unsure = _left(first["words"][0], before, now, entries)
    changed = sorted(name for name in {*before, *left} if before.get(name) != left.get(name))
    own = [name for name in changed if now.get(name) == left.get(name)]
    looked_at = {*before, *left, *now} if unsure else changed
    others = sorted(n for n in looked_at if n not in own and now.get(n) not in (before.get(n), left.get(n)))
    gone = tuple(name for name in own if name not in before)
    back = [before[name] for name in own if name in before]
    works = tuple(_works(first["words"][:3], gone, back, indexes))
    reason = f"the release of {', '.join(others)} {CHANGED_SINCE}" if others else "" if works else AS_IT_WAS
    return Undo(first["line"], works, reason, gone)


def _left(
    python: str, before: Mapping[str, str], now: Mapping[str, str], entries: Sequence[_Entry]
) -> tuple[Mapping[str, str], bool]:
    """The packages as the fix left them, and whether that is unsure.

    Of a step that was killed only what it names counts as changed by it.
    """
    left = dict(before)
    named: set[str] = set()
    ours = False
    for entry in entries:
        if entry["event"] == "step":
            ours = entry["kind"] == Kind.PACKAGES.name and entry["words"][0] == python
            named |= set(map(requirement_name, entry["words"][4:])) if ours else set()
        elif ours and "packages" in entry:
            left, named = _by_name(entry["packages"]), set()
    for name in named:
        left.pop(name, None)
        left.update({name: now[name]} if name in now else {})
    return left, bool(named)


def _by_name(lines: Sequence[str]) -> dict[str, str]:
    """What pip can install again, by project."""
    return {name: line for line in lines if (name := requirement_name(line))}


def _works(pip: Sequence[str], gone: Sequence[str], back: Sequence[str], indexes: Mapping[str, str]) -> Iterator[Work]:
    """The pip calls that bring back the releases of before, and take away what came with the fix."""
    if gone:
        yield repairs.by_installer(Work((*pip, "uninstall", "-y", *gone)))
    if back:
        labels = sorted({line.partition("+")[2] for line in back if "+" in line})
        places = [word for label in labels if label in indexes for word in ("--extra-index-url", indexes[label])]
        yield repairs.by_installer(Work((*pip, "install", "--no-deps", "--force-reinstall", *back, *places)))
