"""What a cell of a table may hold: a parser for each type that a row's field may have.

A cell holds one value or several joined by `;`; blank is unknown, and `-` is certainly none where a list may also be
unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from envkit.base.versions import ComputeCapability, Version

Cell = TypeVar("Cell")
SEPARATOR = ";"
CERTAINLY_NONE = "-"


def text(cell: str) -> str:
    """A cell that is taken as it is."""
    return cell


def _flag(cell: str) -> bool:
    if cell not in ("y", "n"):
        raise ValueError(f"not y or n: {cell!r}")
    return cell == "y"


@cache
def _version(cell: str) -> Version:
    return Version.parse(cell)


@cache
def _capability(cell: str) -> ComputeCapability:
    return ComputeCapability.parse(cell)


def _or_unknown(parse: Callable[[str], Cell]) -> Callable[[str], Cell | None]:
    return lambda cell: parse(cell) if cell else None


def _words(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(SEPARATOR)) if cell else ()


def _several(parse: Callable[[str], Cell]) -> Callable[[str], tuple[Cell, ...]]:
    @cache
    def split(cell: str) -> tuple[Cell, ...]:
        return tuple([parse(part) for part in cell.split(SEPARATOR)]) if cell else ()

    return split


def _several_or_unknown(parse: Callable[[str], Cell]) -> Callable[[str], tuple[Cell, ...] | None]:
    split = _several(parse)

    def read_cell(cell: str) -> tuple[Cell, ...] | None:
        if cell == CERTAINLY_NONE:
            return ()
        return split(cell) if cell else None

    return read_cell


# by the type as the row writes it: annotations are postponed, so they name a parser without being evaluated
PARSERS: dict[str, Callable[[str], Any]] = {
    "str": text,
    "str | None": _or_unknown(text),
    "bool": _flag,
    "bool | None": _or_unknown(_flag),
    "int": int,
    "int | None": _or_unknown(int),
    "float": float,
    "float | None": _or_unknown(float),
    "Version": _version,
    "Version | None": _or_unknown(_version),
    "ComputeCapability": _capability,
    "ComputeCapability | None": _or_unknown(_capability),
    "tuple[str, ...]": _words,
    "tuple[str, ...] | None": _several_or_unknown(text),
    "tuple[int, ...]": _several(int),
    "tuple[int, ...] | None": _several_or_unknown(int),
    "tuple[Version, ...]": _several(_version),
    "tuple[ComputeCapability, ...]": _several(_capability),
    "tuple[ComputeCapability, ...] | None": _several_or_unknown(_capability),
}
