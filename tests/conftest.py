"""What holds for every test, and what the summary says of those that could not run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from tests.programs import REASON

# property tests try the same examples on every run, however slow the machine is
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


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
