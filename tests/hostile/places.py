"""Every place of a machine's facts that holds a text, and the facts with another text put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from envkit._startup.records import is_record, replace, types_of
from envkit.base.versions import ComputeCapability, Version
from envkit.ingest import parse_text
from envkit.model import Environment
from tests.fakes.machines import load_machine, machine_names
from tests.ingest.texts import FOLDER

Change = Callable[[str], str]
_NUMBERS = (Version, ComputeCapability)  # what they hold was read as numbers


def names() -> tuple[str, ...]:
    """The recorded machines, and the recorded texts as `NAME.txt`."""
    return (*machine_names(), *sorted(path.name for path in FOLDER.glob("*.txt")))


@cache
def known(name: str) -> Environment:
    """What is known of one of them."""
    return parse_text((FOLDER / name).read_bytes().decode()) if name.endswith(".txt") else load_machine(name)


@cache
def holders() -> dict[str, tuple[str, ...]]:
    """Those that hold a text at each place, by place: `.pythons.value[].distributions[].name`."""
    found: dict[str, list[str]] = {}
    for name in names():
        for place in dict.fromkeys(_places(known(name), "")):
            found.setdefault(place, []).append(name)
    return {place: tuple(own) for place, own in sorted(found.items())}


def _after(payload: str, text: str) -> str:
    return text + payload


def _before(payload: str, text: str) -> str:
    return payload + text


def _instead(payload: str, text: str) -> str:
    return payload


Way = Callable[[str, str], str]
WAYS: tuple[Way, ...] = (_after, _before, _instead)  # in which a name can be a payload


def put(value: Any, place: str, change: Change) -> Any:  # noqa: ANN401 - any part of the facts
    """The value with each text at `place` changed."""
    return _put(value, "", place, change)


def _places(value: object, here: str) -> Iterator[str]:
    if type(value) is str:
        yield here
    elif isinstance(value, Mapping):
        for item in value.values():
            yield f"{here}{{key}}"
            yield from _places(item, f"{here}{{}}")
    elif isinstance(value, tuple):
        for item in value:
            yield from _places(item, f"{here}[]")
    elif is_record(type(value)) and not isinstance(value, _NUMBERS):
        for name in types_of(type(value)):
            yield from _places(getattr(value, name), f"{here}.{name}")


def _put(value: Any, here: str, place: str, change: Change) -> Any:  # noqa: ANN401
    if not place.startswith(here):
        return value
    if type(value) is str:
        return change(value) if here == place else value
    if isinstance(value, Mapping):
        keys = change if place == f"{here}{{key}}" else str
        return {keys(key): _put(item, f"{here}{{}}", place, change) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_put(item, f"{here}[]", place, change) for item in value)
    if is_record(type(value)) and not isinstance(value, _NUMBERS):
        held = {name: getattr(value, name) for name in types_of(type(value))}
        return replace(value, **{name: _put(item, f"{here}.{name}", place, change) for name, item in held.items()})
    return value
