"""Requirements and their markers as packaging reads them, whatever somebody wrote: what cannot be read is None."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packaging.markers import Marker
    from packaging.requirements import Requirement

_LONGEST = 10_000  # characters; packaging looks ahead in all of a line


@lru_cache(maxsize=1024)  # environments of one machine hold the same packages
def requirement(text: str) -> Requirement | None:
    """The requirement in a line, None for what is none, and for what nests too deeply to be read."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text) if len(text) <= _LONGEST else None
    except (InvalidRequirement, RecursionError):
        return None


def marker(text: str) -> Marker | None:
    """The environment marker, None for what is none, and for what nests too deeply to be read."""
    from packaging.markers import InvalidMarker, Marker

    try:
        return Marker(text) if len(text) <= _LONGEST else None
    except (InvalidMarker, RecursionError):
        return None


def holds(of: Marker | None, environment: Mapping[str, Any]) -> bool | None:
    """Whether a marker holds where the environment is so; None where that cannot be told."""
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.specifiers import InvalidSpecifier

    try:
        return None if of is None else of.evaluate(dict(environment))
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidSpecifier, RecursionError):
        return None
