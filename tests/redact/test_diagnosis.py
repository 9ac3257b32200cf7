"""A masked report finds the same: the same checks with the same status, on every recorded machine and text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.privacy.masker import mask_environment
from envkit.tables import Matrix
from tests.fakes.machines import load_machine, machine_names
from tests.ingest.texts import cases
from tests.reports.score import batches
from tests.sweeps import turn

REPORTS = Path(__file__).parents[1] / "reports"
_EACH = 40  # of the quick test


def _diagnosis(environment: Environment) -> list[tuple[object, ...]]:
    checks = list(all_checks().values())
    return [(found.id, found.status, found.because_of) for found in run_checks(environment, Matrix.load(), checks)]


def _different(machines: Iterable[str], texts: Iterable[str]) -> list[str]:
    environments = [load_machine(name) for name in machines] + [parse_text(text) for text in texts]
    return [
        environment.origin
        for environment in environments
        if _diagnosis(environment) != _diagnosis(mask_environment(environment))
    ]


@pytest.mark.thorough
def test_some_recorded_machines_and_texts_have_the_same_findings_with_masks() -> None:
    assert _different(machine_names()[::_EACH], [case.text for case in cases()[::_EACH]]) == []


@pytest.mark.thorough
def test_every_recorded_machine_and_text_has_the_same_findings_with_masks() -> None:
    assert _different(machine_names(), [case.text for case in cases()]) == []


@pytest.mark.thorough
@pytest.mark.parametrize("batch", batches())
def test_every_report_has_the_same_findings_with_masks(batch: str) -> None:
    reports = sorted((REPORTS / batch).glob("*.txt"))[turn(2) :: 2]
    assert _different([], [report.read_text(encoding="utf-8", errors="replace") for report in reports]) == []
