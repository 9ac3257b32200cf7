"""Taking facts away from a healthy machine breaks no check and invents no failure: not knowing is not a fault."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import Environment, Problem, missing
from envkit.model.paths import fact, fact_paths, with_facts
from tests.checks.software import matrix
from tests.fakes.machines import load_machine

HEALTHY = (
    "ubuntu24.04-rtx4060laptop-580",
    pytest.param("ubuntu22.04-8xh100-550", marks=pytest.mark.thorough),
    pytest.param("ubuntu22.04-a100-container", marks=pytest.mark.thorough),
)
UNKNOWN = (
    Problem.DENIED,
    pytest.param(Problem.UNPARSABLE, marks=pytest.mark.thorough),
    pytest.param(Problem.NOT_LOOKED, marks=pytest.mark.thorough),
)


def failures(environment: Environment) -> list[tuple[str, str]]:
    findings: list[Finding] = run_checks(environment, matrix(), all_checks().values())
    assert [(f.id, f.title) for f in findings if f.status is Status.ERROR] == []
    return [(f.id, f.title) for f in findings if f.status is Status.FAIL]


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("problem", UNKNOWN)
def test_one_fact_less(name: str, problem: Problem) -> None:
    environment = load_machine(name)
    for path in fact_paths():
        if path != "system.machine_kind":  # not knowing where one is changes what every other fact means
            assert failures(with_facts(environment, {path: missing(problem, "a test")})) == [], path


@pytest.mark.parametrize("name", HEALTHY)
def test_one_fact_alone(name: str) -> None:
    environment = load_machine(name)
    for path in fact_paths():
        assert failures(with_facts(Environment(), {path: fact(environment, path)})) == [], path


@pytest.mark.thorough
@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("problem", (Problem.ABSENT, Problem.TIMED_OUT))
def test_a_missing_or_slow_fact_breaks_no_check(name: str, problem: Problem) -> None:
    environment = load_machine(name)
    for path in fact_paths():
        failures(with_facts(environment, {path: missing(problem, "a test")}))
