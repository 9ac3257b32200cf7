"""The corpora of secrets, identifiers and innocent lines: read, with their random parts put in."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from envkit.privacy.masker import Masker
from envkit.privacy.secrets import without_secrets

_FOLDER = Path(__file__).parent
# {a34} stands for 34 random letters and digits, so that no scanner takes these files for a leak: a letter for each
# alphabet, of which a row gets the first so many characters
_RANDOM = {
    "a": "q7Vd2XkRb9ZmT4wYc8HsN3fLgJ6pE5tAu1WyB0vKx7RzM2nQh4SdG9eCo3UjF8iPl5TkD6rXa1ZwVbY0mNsHq2gLcEfJ4yKt",
    "h": "4f9a1c7e2b8d0653af17c9e4d2b6085f3a7c1e9d4b2f8a605c7d3e1f9b4a2c8d6e0f5a7b3c1d9e8f2a4b6c0d7e5f1a3b",
    "d": "4820917365028471936504827193650482719365",
    "u": "K7QXR2MZT4WYC5HSN3FLGJ6PEAVUDWYB7VKXRZM2NQH4SDGECO3UJFIPL5TKD6RXAZWVBYMNSHQ2GLCEFJ4YKT7Q",
}
_PLACE = re.compile(r"\{([ahdu])(\d+)\}")


@dataclass(frozen=True)
class Row:
    """A line, its kind, and the parts that have to vanish."""

    kind: str
    parts: tuple[str, ...]
    line: str


@cache
def rows(name: str) -> tuple[Row, ...]:
    """The rows of a corpus; a mark stands for the end of a line."""
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        _, *records = csv.reader(file)
    return tuple(Row(kind, tuple(map(_filled, parts)), _filled(line)) for kind, *parts, line in records)


def _filled(text: str) -> str:
    return _PLACE.sub(lambda place: _RANDOM[place[1]][: int(place[2])], text).replace("⏎", "\n")


def leaking_secrets() -> list[Row]:
    """What a report shows of the secrets."""
    return [row for row in rows("secrets") if _shows(without_secrets(row.line), row)]


def leaking_identifiers() -> list[Row]:
    """What a masked report shows of the identifiers."""
    return [row for row in rows("identifiers") if _shows(Masker().text(row.line), row)]


def changed() -> list[Row]:
    """The innocent lines that masking changes."""
    return [row for row in rows("innocent") if Masker().text(row.line) != row.line]


def _shows(text: str, row: Row) -> bool:
    return any(part.lower() in text.lower() for part in row.parts)
