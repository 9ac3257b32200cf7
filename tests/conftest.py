"""What holds for every test: steady property tests, no check that breaks unnoticed, and why tests were skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from envkit.checks.engine import runner
from envkit.checks.engine.findings import Outcome
from tests.gate import resuming
from tests.programs import REASON

# Property tests try the same examples on every run, however slow the machine is.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

_broke = runner.broke


def _raised(error: BaseException) -> Outcome:
    """A check that breaks becomes a finding of status `error`, which a test that looks for others would overlook."""
    raise AssertionError("a check broke") from error


runner.broke = _raised


@pytest.fixture
def checks_may_break(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For the tests of the runner itself: a check that breaks is a finding, as it is for users."""
    monkeypatch.setattr(runner, "broke", _broke)
    yield


def pytest_configure(config: pytest.Config) -> None:
    resuming.register(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    resuming.leave_out_what_passed(config, items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason why tests were skipped."""
    where = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = Counter(place[2].removeprefix("Skipped: ") for place in where if isinstance(place, tuple))
    if not reasons:
        return
    terminalreporter.section("not tested on this machine")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:4} tests: {reason}")
    if any(reason.startswith(REASON) for reason in reasons):
        terminalreporter.line("Install these programs to run the tests that need them; the gate does.")
