"""Facts as JSON and back, by the records themselves; a fact is `{value, source}` or `{problem, source, detail}`.

Versions and compute capabilities are text, enums their value, tuples lists, missing parts of a value null.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeAlias

from envkit._startup.records import is_record, optional_names, types_of
from envkit.base.errors import SourceError, did_you_mean
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, Identity, Observed, Problem

SCHEMA = 1
_PLAIN = (str, int, float, bool, type(None))
Json: TypeAlias = Any  # JSON data of any shape: what is read is checked piece by piece below
TypeForm: TypeAlias = Any  # a type as an annotation writes it, `tuple[Gpu, ...]` included
_Decoder = Callable[[Json, str], Any]


def to_json(value: object) -> Json:
    """Plain JSON data for an environment or any part of it but its identity."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Observed):
        return _observed(value)
    if isinstance(value, (Version, ComputeCapability)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    parts = ((name, getattr(value, name)) for name in types_of(type(value)))
    return {name: to_json(part) for name, part in parts if not isinstance(part, Identity)}


def environment_from_json(data: object, strict: bool = False) -> Environment:
    """The environment that `envkit probe --json` or `doctor --json` wrote down.

    Keys that this version does not know are passed over, unless `strict`. Raises SourceError for data of another shape.
    """
    if isinstance(data, Mapping) and "environment" in data:
        _check_schema(data.get("schema", SCHEMA))
        data = data["environment"]
    environment: Environment = _reader(strict).decoder(Environment)(data, "facts")
    return environment


def part_from_json(kind: TypeForm, data: object, where: str) -> Json:
    """A value of the type `kind` (a record, `tuple[Gpu, ...]`, Version …). Raises SourceError naming `where`."""
    return _reader(strict=True).decoder(kind)(data, where)


def _check_schema(schema: object) -> None:
    if schema != SCHEMA:
        raise SourceError(f"These facts have schema {schema!r}; this envkit reads {SCHEMA}.", "Update envkit.")


def _observed(observed: Observed[Any]) -> dict[str, Any]:
    if observed.problem is None:
        written = {"value": to_json(observed.value), "source": observed.source}
    else:
        written = {"problem": observed.problem.value}
        if observed.source:
            written["source"] = observed.source
    if observed.detail:
        written["detail"] = observed.detail
    return written


class _Reader:
    """Builds one decoder per type, on first use."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._decoders: dict[Any, _Decoder] = {}

    def decoder(self, hint: TypeForm) -> _Decoder:
        known = self._decoders.get(hint)
        if known is None:
            known = self._decoders[hint] = self._build(hint)
        return known

    def _build(self, hint: TypeForm) -> _Decoder:
        origin: Json = typing.get_origin(hint)
        arguments = typing.get_args(hint)
        if origin is Observed:
            return self._fact(self.decoder(arguments[0]))
        if origin in (types.UnionType, typing.Union):
            return self._optional(next(item for item in arguments if item is not types.NoneType))
        if origin is tuple:
            return self._items(self.decoder(arguments[0]))
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self._mapping(self.decoder(arguments[1]))
        if is_record(hint) and hint not in (Version, ComputeCapability):
            return self.record(hint)
        return _scalar(hint)

    def record(self, cls: TypeForm) -> _Decoder:
        hints = typing.get_type_hints(cls)
        needed = types_of(cls).keys() - optional_names(cls)

        def decode(data: Json, where: str) -> Json:
            entries = _mapping_of(data, where)
            missing_names = sorted(needed - entries.keys())
            if missing_names:
                raise SourceError(f"{where}: {missing_names[0]!r} is missing.", "Add it, or remove the fact.")
            unknown = next((name for name in entries if name not in hints), None)
            if unknown is not None and self._strict:
                raise SourceError(f"{where}: {unknown!r} is not known.", did_you_mean(unknown, hints))
            values = {
                name: self.decoder(hints[name])(item, f"{where}.{name}")
                for name, item in entries.items()
                if name in hints
            }
            return cls(**values)

        return decode

    def _fact(self, inner: _Decoder) -> _Decoder:
        def decode(data: Json, where: str) -> Json:
            entries = _mapping_of(data, where)
            source, detail = _text(entries.get("source", ""), where), _text(entries.get("detail", ""), where)
            if entries.get("problem") is not None:
                problem = _enum(Problem)(entries["problem"], f"{where}.problem")
                return Observed(None, source, problem, detail)
            if entries.get("value") is None:
                raise SourceError(
                    f"{where}: a fact has a value or a problem.",
                    f'Write {{"problem": one of {", ".join(item.value for item in Problem)}}}.',
                )
            return Observed(inner(entries["value"], where), source, None, detail)

        return decode

    def _optional(self, hint: TypeForm) -> _Decoder:
        inner = self.decoder(hint)
        return lambda data, where: None if data is None else inner(data, where)

    @staticmethod
    def _items(inner: _Decoder) -> _Decoder:
        def decode(data: Json, where: str) -> Json:
            if not isinstance(data, list):
                raise _wrong(where, "a list", data)
            return tuple(inner(item, f"{where}[{index}]") for index, item in enumerate(data))

        return decode

    @staticmethod
    def _mapping(inner: _Decoder) -> _Decoder:
        return lambda data, where: {
            key: inner(item, f"{where}.{key}") for key, item in _mapping_of(data, where).items()
        }


@cache
def _reader(strict: bool) -> _Reader:
    """One reader of each kind, so that annotations are resolved once."""
    return _Reader(strict)


def _scalar(hint: TypeForm) -> _Decoder:
    if hint in (Version, ComputeCapability):
        return _parsed(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    if hint is object:
        return lambda data, where: data
    return {str: _text, bool: _truth, int: _whole, float: _number}[hint]


def _parsed(cls: TypeForm) -> _Decoder:
    def decode(data: Json, where: str) -> Json:
        try:
            return cls.parse(_text(data, where))
        except ValueError as error:
            raise _wrong(where, "a version" if cls is Version else "a compute capability", data) from error

    return decode


def _enum(cls: TypeForm) -> _Decoder:
    def decode(data: Json, where: str) -> Json:
        try:
            return cls(data)
        except ValueError as error:
            raise _wrong(where, "one of " + ", ".join(item.value for item in cls), data) from error

    return decode


def _text(data: Json, where: str) -> str:
    if not isinstance(data, str):
        raise _wrong(where, "text", data)
    return data


def _truth(data: Json, where: str) -> bool:
    if not isinstance(data, bool):
        raise _wrong(where, "true or false", data)
    return data


def _whole(data: Json, where: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise _wrong(where, "a whole number", data)
    return data


def _number(data: Json, where: str) -> float:
    if not isinstance(data, (int, float)) or isinstance(data, bool):
        raise _wrong(where, "a number", data)
    try:
        number = float(data)
    except OverflowError as error:
        raise _wrong(where, "a finite number", "a larger one") from error
    if not math.isfinite(number):
        raise _wrong(where, "a finite number", data)
    return number


def _mapping_of(data: Json, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise _wrong(where, "an object", data)
    return data


def _wrong(where: str, expected: str, data: object) -> SourceError:
    shown = repr(data)
    return SourceError(f"{where}: expected {expected}, found {shown[:60] + '…' if len(shown) > 60 else shown}.")
