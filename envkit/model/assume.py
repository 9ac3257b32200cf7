"""`--assume FACT=VALUE`: the user's word in place of what was observed; an empty VALUE means absent."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from envkit.base.errors import RequestError, SourceError
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, Identity, Observed, OsRelease, Problem, found, missing
from envkit.model.facts_json import Json, TypeForm, part_from_json
from envkit.model.paths import fact, with_facts

SOURCE = "--assume"


def assume_facts(environment: Environment, assumptions: Iterable[str]) -> Environment:
    """The environment with each `FACT=VALUE` in place of what was observed. Raises RequestError.

    A value of several parts is written as JSON (`gpus=[{"index": 0, "name": "Tesla T4"}]`), a list of words with
    commas; `variables.NAME=text` sets one entry of a mapping.
    """
    hints = _hints()
    for text in assumptions:
        path, separator, value = text.partition("=")
        if not separator:
            raise RequestError(f"--assume: {text!r} is not FACT=VALUE.", "Example: system.architecture=aarch64")
        environment = _assume(environment, hints, path.strip(), value.strip())
    return environment


def _assume(environment: Environment, hints: Mapping[str, Any], path: str, value: str) -> Environment:
    if path in hints:
        assumed: Observed[Any] = missing(Problem.ABSENT, SOURCE) if not value else _parsed(path, hints[path], value)
        return with_facts(environment, {path: assumed})
    mapping, _, key = path.partition(".") if path.startswith("variables.") else path.rpartition(".")
    if mapping in hints and typing.get_args(hints[mapping])[1:] == (str,) and key:
        entries = dict(fact(environment, mapping).value or {})
        return with_facts(environment, {mapping: found(entries | {key: value}, SOURCE)})
    raise RequestError.unknown_value("--assume", path, hints, "envkit probe", kind="fact")


def _hints() -> dict[str, Any]:
    """The value type of every fact by its path."""
    types: dict[str, Any] = {}
    hints = typing.get_type_hints(Environment)
    for item in fields(Environment):
        hint = hints[item.name]
        if typing.get_origin(hint) is Observed:
            types[item.name] = typing.get_args(hint)[0]
        elif is_dataclass(hint) and hint is not Identity:
            inner = typing.get_type_hints(hint)
            types |= {f"{item.name}.{part.name}": typing.get_args(inner[part.name])[0] for part in fields(hint)}
    return types


def _parsed(path: str, hint: TypeForm, value: str) -> Observed[Any]:
    try:
        return found(part_from_json(hint, _as_json(hint, value), path), SOURCE)
    except (ValueError, SourceError) as error:
        raise RequestError(f"--assume {path}={value}: {error}", _example(path, hint)) from error


def _as_json(hint: TypeForm, value: str) -> Json:
    """The JSON data that `value` writes, short forms included. Raises ValueError."""
    from envkit.base.json_text import loads

    if hint is OsRelease and not value.startswith("{"):
        name = value.rstrip("0123456789.")
        return {"os_id": value, "id": name, "version_id": value[len(name) :], "pretty_name": value}
    if hint in (str, Version, ComputeCapability) or (isinstance(hint, type) and issubclass(hint, Enum)):
        return value
    if hint is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return words.get(value.lower(), value)
    if _is_words(hint) and not value.startswith("["):
        return [word.strip() for word in value.split(",")]
    return loads(value)


def _is_words(hint: TypeForm) -> bool:
    return bool(hint == tuple[str, ...])


def _example(path: str, hint: TypeForm) -> str:
    if hint is Version:
        return f"Write a version, such as {path}=MAJOR.MINOR"
    if _is_words(hint):
        return f"Example: {path}=one,two"
    if hint in (str, int, float, bool) or isinstance(hint, type) and issubclass(hint, Enum):
        return ""
    return "Write the value as JSON, as `envkit probe --json` prints it."
