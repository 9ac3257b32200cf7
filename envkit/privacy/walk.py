"""Changes every text of a record, told the kind that its type declares and the key under which it stands."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

from envkit._startup.records import is_record, replace
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, Observed
from envkit.model.facts_json import TypeForm
from envkit.model.privacy import Privacy
from envkit.privacy.secrets import without_secrets

T = TypeVar("T")
Change: TypeAlias = Callable[[Privacy, str, str], str]  # kind, key in a mapping, text
_Walk: TypeAlias = Callable[[Any, str, Change], Any]
_WITHOUT_TEXT = (Version, ComputeCapability)


def with_texts(value: T, change: Change) -> T:
    """The record with every text in it changed; parts without a change stay the same objects."""
    kind: TypeForm = type(value)
    walk = _walk(kind)
    changed: T = value if walk is None else walk(value, "", change)
    return changed


def without_secret_facts(environment: Environment) -> Environment:
    """The environment with nothing secret in it: what every command goes on with."""
    return with_texts(environment, lambda kind, key, text: without_secrets(text))


@cache
def _walk(hint: TypeForm) -> _Walk | None:
    """What changes a value of this type; None for one that holds no text."""
    origin: TypeForm = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is Annotated:
        kind = next(item for item in arguments[1:] if isinstance(item, Privacy))
        return _text(kind) if arguments[0] is str else _data(kind)
    if origin is Observed:
        return _record(Observed, {"value": _optional(_walk(arguments[0]))})
    if origin in (types.UnionType, typing.Union):
        return _optional(_walk(next(item for item in arguments if item is not types.NoneType)))
    if origin is tuple:
        return _items(_walk(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_walk(arguments[0]), _walk(arguments[1]))
    return _record(hint, {}) if is_record(hint) and hint not in _WITHOUT_TEXT else None


def _text(kind: Privacy) -> _Walk:
    return lambda text, key, change: change(kind, key, text) if text else text


def _data(kind: Privacy) -> _Walk:
    """JSON of any shape, its keys included."""

    def walk(value: Any, key: str, change: Change) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, str):
            return change(kind, key, value)
        if isinstance(value, Mapping):
            return {change(kind, "", str(name)): walk(item, str(name), change) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [walk(item, key, change) for item in value]
        return value

    return walk


def _optional(inner: _Walk | None) -> _Walk | None:
    if inner is None:
        return None
    known = inner
    return lambda value, key, change: value if value is None else known(value, key, change)


def _items(inner: _Walk | None) -> _Walk | None:
    if inner is None:
        return None
    known = inner
    return lambda values, key, change: tuple([known(value, key, change) for value in values])


def _mapping(of_key: _Walk | None, of_value: _Walk | None) -> _Walk:
    def walk(values: Mapping[str, Any], key: str, change: Change) -> dict[str, Any]:
        return {
            (of_key(name, "", change) if of_key else name): (of_value(item, name, change) if of_value else item)
            for name, item in values.items()
        }

    return walk


def _record(cls: TypeForm, known: dict[str, _Walk | None]) -> _Walk:
    """The fields that hold texts are found when the first record of the class is met: records may nest."""
    walks: dict[str, _Walk] = {}

    def fields() -> dict[str, _Walk]:
        if not walks:
            hints = typing.get_type_hints(cls, include_extras=True)
            found = {name: known[name] if name in known else _walk(hint) for name, hint in hints.items()}
            walks.update({name: walk for name, walk in found.items() if walk is not None})
        return walks

    def walk(value: Any, key: str, change: Change) -> Any:  # noqa: ANN401 - a record
        if value is None:
            return None
        changes = {}
        for name, inner in fields().items():
            before = getattr(value, name)
            after = inner(before, "", change)
            if after is not before and after != before:
                changes[name] = after
        return replace(value, **changes) if changes else value

    return walk
