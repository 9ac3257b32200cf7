"""Every remedy that a recorded machine, a text or a report of the world yields, with the facts it was given for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from envkit.checks.engine.findings import Finding
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from tests.checks.software import matrix
from tests.fakes.machines import load_machine, machine_names
from tests.ingest.texts import cases

REPORTS = Path(__file__).parent.parent / "reports"


@dataclass(frozen=True)
class Given:
    """A finding that has commands: where it was found, and on which facts."""

    place: str
    environment: Environment
    finding: Finding
    commands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {self.finding.id}"


@cache
def remedies_given() -> tuple[Given, ...]:
    """All of them, in one walk over everything that the repository holds."""
    return tuple(given for place, load in _environments() for given in _of(place, load()))


def remedies_at(place: str) -> tuple[Given, ...]:
    """Those of one machine, text or report."""
    return tuple(_of(place, dict(_environments())[place]()))


def _environments() -> Iterator[tuple[str, Callable[[], Environment]]]:
    for name in machine_names():
        yield name, partial(load_machine, name)
    for case in cases():
        yield f"texts/{case.name}", partial(parse_text, case.text)
    for path in sorted(REPORTS.glob("batch-*/*.txt")):
        yield f"reports/{path.stem}", partial(parse_text, path.read_bytes().decode())


def _of(place: str, environment: Environment) -> Iterator[Given]:
    for finding in run_checks(environment, matrix(), all_checks().values()):
        if finding.remedy is not None and finding.remedy.commands:
            yield Given(place, environment, finding, finding.remedy.commands)
