"""Where each check is ok and where it is not: machines, texts, and the cases of the tests here."""

from __future__ import annotations

import csv
import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import tests.checks
from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from tests.checks.software import Case, findings, matrix
from tests.fakes.machines import load_machine, machine_names

FOLDER = Path(__file__).resolve().parent
TEXTS = FOLDER.parent / "texts"
NOT_OK = (Status.FAIL, Status.WARN)


def information() -> dict[str, str]:
    """Checks that explain and never find a fault, and why."""
    with open(FOLDER / "information.csv", encoding="utf-8", newline="") as file:
        return {row["id"]: row["reason"] for row in csv.DictReader(file)}


def all_cases() -> Iterator[Case]:
    """The cases of every test module in this folder that keeps them in `CASES`."""
    for module in pkgutil.iter_modules(tests.checks.__path__):
        if module.name.startswith("test_") and module.name != "test_coverage":
            yield from getattr(importlib.import_module(f"tests.checks.{module.name}"), "CASES", ())


def _environments() -> Iterator[tuple[str, Environment]]:
    for name in machine_names():
        yield f"machines/{name}", load_machine(name)
    for path in sorted(TEXTS.glob("*.txt")):
        yield f"texts/{path.stem}", parse_text(path.read_text("utf-8"))


@lru_cache(maxsize=1)
def coverage() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each check: the places where it is not ok, and those where it is ok."""
    bad: dict[str, list[str]] = {id: [] for id in all_checks()}
    good: dict[str, list[str]] = {id: [] for id in all_checks()}
    for name, environment in _environments():
        for finding in run_checks(environment, matrix(), all_checks().values()):
            target = bad if finding.status in NOT_OK else good if finding.status is Status.OK else None
            if target is not None and name not in target[finding.id][-1:]:
                target[finding.id].append(name)
    for case in all_cases():
        for finding in findings(case.id, case.environment):
            target = bad if finding.status in NOT_OK else good if finding.status is Status.OK else None
            if target is not None:
                target[finding.id].append(f"cases/{case.name}")
    return {id: (tuple(dict.fromkeys(bad[id])), tuple(dict.fromkeys(good[id]))) for id in bad}


def table() -> Iterator[str]:
    """One line per check: id, how often it is not ok and ok, and the first places of each."""
    for id, (bad, good) in coverage().items():
        where = f"not ok {len(bad)} ({', '.join(bad[:2])}); ok {len(good)} ({', '.join(good[:1])})"
        yield f"{id}: {where}"


if __name__ == "__main__":  # python -m tests.checks.coverage
    print("\n".join(table()))
