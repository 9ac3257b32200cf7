"""Every fact of an environment, by its dotted path."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from envkit.model.observed import Observed


def walk(node: object, prefix: str = "") -> Iterator[tuple[str, Observed[object]]]:
    """Every fact below `node` with its dotted path."""
    for item in dataclasses.fields(node):  # type: ignore[arg-type]  # only ever given our dataclasses
        value = getattr(node, item.name)
        path = f"{prefix}{item.name}"
        if isinstance(value, Observed):
            yield path, value
        elif dataclasses.is_dataclass(value):
            yield from walk(value, f"{path}.")
