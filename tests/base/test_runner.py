"""The runner meets needs, isolates a crash, orders by root cause and links consequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from envkit.base.versions import Version
from envkit.checks.engine.findings import Outcome, Status, ok
from envkit.checks.engine.registry import Check, Layer, all_checks, check
from envkit.checks.engine.runner import run_checks, summary
from envkit.model import Driver, Environment, Problem, found, missing
from envkit.tables import Matrix

MATRIX = cast(Matrix, None)  # these checks do not ask it anything


def _fails(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    yield Outcome(Status.FAIL, "broken")


def _well(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    yield ok("well")


def _crashes(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    raise ZeroDivisionError("oh")
    yield


def test_the_lowest_broken_layer_comes_first_and_explains_the_rest() -> None:
    upper = Check("upper", "", Layer.LIBRARIES, "F", _fails, explained_by=("lower",))
    lower = Check("lower", "", Layer.PCI, "F", _fails)
    findings = run_checks(Environment(), MATRIX, [upper, lower])
    assert [(item.id, item.because_of) for item in findings] == [("lower", None), ("upper", "lower")]


def test_a_cause_that_is_well_explains_nothing() -> None:
    upper = Check("upper", "", Layer.LIBRARIES, "F", _fails, explained_by=("lower",))
    findings = run_checks(Environment(), MATRIX, [upper, Check("lower", "", Layer.PCI, "F", _well)])
    assert findings[0].because_of is None


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (Problem.ABSENT, Status.SKIP),
        (Problem.DENIED, Status.UNKNOWN),
        (Problem.UNPARSABLE, Status.UNKNOWN),
        (Problem.TIMED_OUT, Status.UNKNOWN),
        (Problem.NOT_LOOKED, Status.UNKNOWN),
    ],
)
def test_an_unmet_need_is_said_and_is_never_health(problem: Problem, status: Status) -> None:
    needy = Check("needy", "", Layer.PCI, "F", _fails, needs=("driver.kernel_module",))
    environment = Environment(driver=Driver(kernel_module=missing(problem, "/proc/x")))
    (finding,) = run_checks(environment, MATRIX, [needy])
    assert finding.status is status
    assert finding.evidence[0].fact == "driver.kernel_module"


def test_one_of_several_needs_is_enough() -> None:
    either = Check("either", "", Layer.PCI, "F", _well, any_of=("driver.user_space", "driver.kernel_module"))
    environment = Environment(driver=Driver(kernel_module=found(Version.parse("535.1"), "x")))
    assert run_checks(environment, MATRIX, [either])[0].status is Status.OK
    assert run_checks(Environment(), MATRIX, [either])[0].status is Status.UNKNOWN


@pytest.mark.usefixtures("checks_may_break")
def test_a_crash_is_one_finding_and_the_rest_goes_on() -> None:
    checks = [Check("bad", "", Layer.PCI, "F", _crashes), Check("good", "", Layer.PCI, "F", _well)]
    findings = run_checks(Environment(), MATRIX, checks)
    assert summary(findings) == {"ok": 1, "warn": 0, "fail": 0, "skip": 0, "unknown": 0, "error": 1}
    assert "ZeroDivisionError: oh" in findings[0].title


def test_an_id_can_be_taken_once_only() -> None:
    taken = next(iter(all_checks()))
    with pytest.raises(ValueError, match="twice"):
        check(taken, title="", layer=Layer.PCI)(_well)
