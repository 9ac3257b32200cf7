"""The facts alone, for a person: every fact with its source, or why there is none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum

from envkit.model import Environment
from envkit.model.paths import walk
from envkit.render.machine import machine_lines, reason

_LONGEST = 400  # characters of one fact; an environment's packages are tens of thousands


def facts_text(environment: Environment) -> str:
    """A summary of the machine, then every fact on a line of its own."""
    lines = [f"{label:<11}{text}" for label, text in machine_lines(environment)]
    lines += ["", "Facts"]
    for path, observed in walk(environment):
        if observed.known:
            source = "; ".join(filter(None, (observed.source, observed.detail)))
            lines.append(f"  {path} = {_shortened(_value(observed.value))}  ({source})")
        else:
            lines.append(f"  {path}: {reason(observed)}")
    return "\n".join(lines) + "\n"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} … (--json has all)"


def _value(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_value(item)}" for key, item in value.items()) or "(empty)"
    if isinstance(value, tuple):
        return "; ".join(_value(item) for item in value) or "(empty)"
    if dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__:
        fields = ((item.name, getattr(value, item.name)) for item in dataclasses.fields(value))
        return " ".join(f"{name}={_value(item)}" for name, item in fields if item not in (None, "", (), {}))
    return str(value)
