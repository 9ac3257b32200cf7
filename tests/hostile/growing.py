"""Every list of a machine's facts, and the facts with a longer one: what a stranger's file may hold any number of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from envkit._startup.records import is_record, replace, types_of
from envkit.base.versions import ComputeCapability, Version

_NUMBERS = (Version, ComputeCapability)  # what they hold was read as numbers
_FIGURES = re.compile(r"[0-9a-f]{2,}")
Way = Callable[[str, int], str]


def _same(text: str, number: int) -> str:
    return text


def _numbered(text: str, number: int) -> str:
    return f"{text}{number}" if text else text


def _renumbered(text: str, number: int) -> str:
    """The text with another number in place of its middle one: an address stays one."""
    found = list(_FIGURES.finditer(text))
    if not found:
        return text
    middle = found[len(found) // 2]
    return text[: middle.start()] + format(number, "x").zfill(len(middle[0])) + text[middle.end() :]


WAYS: Mapping[str, Way] = {"same": _same, "numbered": _numbered, "renumbered": _renumbered}


def lists(value: object, here: str = "") -> Iterator[str]:
    """The places of lists that hold something: `.pythons.value[]`, `.variables.value{}`."""
    if isinstance(value, Mapping):
        if value:
            yield f"{here}{{}}"
        for item in value.values():
            yield from lists(item, f"{here}{{}}")
    elif isinstance(value, tuple):
        if value:
            yield f"{here}[]"
        for item in value:
            yield from lists(item, f"{here}[]")
    elif is_record(type(value)) and not isinstance(value, _NUMBERS):
        for name in types_of(type(value)):
            yield from lists(getattr(value, name), f"{here}.{name}")


def grown(value: Any, place: str, more: int, way: Way, here: str = "") -> Any:  # noqa: ANN401 - any part of the facts
    """The value with `more` items in the first list at `place`, each one of the old ones with other texts."""
    if not place.startswith(here):
        return value
    if isinstance(value, Mapping) and value:
        items = list(value.items())
        if place == f"{here}{{}}":
            old = [items[number % len(items)] for number in range(more)]
            return dict(items) | {f"{key}{n}": _changed(item, n, way) for n, (key, item) in enumerate(old)}
        return {key: grown(item, place, more, way, f"{here}{{}}") for key, item in items}
    if isinstance(value, tuple) and value:
        if place == f"{here}[]":
            return (*value, *(_changed(value[number % len(value)], number, way) for number in range(more)))
        return (grown(value[0], place, more, way, f"{here}[]"), *value[1:])
    if is_record(type(value)) and not isinstance(value, _NUMBERS):
        held = {name: getattr(value, name) for name in types_of(type(value))}
        return replace(value, **{name: grown(item, place, more, way, f"{here}.{name}") for name, item in held.items()})
    return value


def _changed(value: Any, number: int, way: Way) -> Any:  # noqa: ANN401
    if type(value) is str:
        return way(value, number)
    if isinstance(value, Mapping):
        return {key: _changed(item, number, way) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_changed(item, number, way) for item in value)
    if is_record(type(value)) and not isinstance(value, _NUMBERS):
        held = {name: getattr(value, name) for name in types_of(type(value))}
        return replace(value, **{name: _changed(item, number, way) for name, item in held.items()})
    return value
