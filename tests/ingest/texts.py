"""The texts under tests/texts and what each must yield (expected.csv)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "texts"


@dataclass(frozen=True)
class Case:
    """One text: the id of its first `fail` or `none`, ids that must `warn`, its signatures, facts as path and value."""

    name: str
    fail: str
    warn: tuple[str, ...]
    signatures: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.txt").read_bytes().decode()

    @property
    def healthy(self) -> bool:
        return self.name.startswith("healthy-")


def cases() -> list[Case]:
    with (FOLDER / "expected.csv").open(encoding="utf-8", newline="") as file:
        return [_case(row) for row in csv.DictReader(file)]


def _case(row: dict[str, str]) -> Case:
    facts = tuple(_pair(part) for part in row["facts"].split(";") if part)
    warn, messages = (tuple(filter(None, row[column].split(";"))) for column in ("warn", "messages"))
    return Case(row["text"], row["fail"], warn, messages, facts)


def _pair(part: str) -> tuple[str, str]:
    path, _, value = part.partition("=")
    return path, value


def told(document: object, path: str) -> str:
    """What a facts document holds at `gpus.0.name`; `#` is a list's length. An observed fact stands for its value."""
    node = document
    for name in path.split("."):
        if isinstance(node, dict) and "source" in node and "value" in node:
            node = node["value"]
        if name == "#":
            assert isinstance(node, (list, dict)), f"{path}: not a list"
            node = len(node)
        elif isinstance(node, list):
            node = node[int(name)]
        else:
            assert isinstance(node, dict), f"{path}: nothing at {name}"
            node = node[name]
    if isinstance(node, dict) and "value" in node:
        node = node["value"]
    return str(node)
