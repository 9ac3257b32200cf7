"""Facts by their dotted path (`driver.kernel_module`): the paths, the fact at one, and facts put in their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envkit._startup.records import is_record, replace, types_of
from envkit.model.environment import Environment
from envkit.model.observed import Observed


def walk(node: object, prefix: str = "") -> Iterator[tuple[str, Observed[Any]]]:
    """Every fact below a record with its dotted path."""
    for name in types_of(type(node)):
        value = getattr(node, name)
        if isinstance(value, Observed):
            yield f"{prefix}{name}", value
        elif is_record(type(value)):
            yield from walk(value, f"{prefix}{name}.")


def fact_paths() -> tuple[str, ...]:
    """The dotted path of every fact, in the order of the model."""
    return tuple(path for path, _ in walk(Environment()))


def fact(environment: Environment, path: str) -> Observed[Any]:
    """The fact at a dotted path. Raises AttributeError for a path that is none."""
    node: Any = environment
    for name in path.split("."):
        node = getattr(node, name)
    if not isinstance(node, Observed):
        raise AttributeError(f"{path} is not a fact")
    return node


def with_facts(environment: Environment, facts: Mapping[str, Observed[Any]]) -> Environment:
    """The environment with the facts at these dotted paths replaced."""
    top: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for path, observed in facts.items():
        group, _, name = path.rpartition(".")
        (groups.setdefault(group, {}) if group else top)[name] = observed
    for group, values in groups.items():
        top[group] = replace(getattr(environment, group), **values)
    return replace(environment, **top)
