"""What holds for every test: steady property tests, and no check that breaks unnoticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from envkit.checks import runner
from envkit.checks.findings import Outcome

# Property tests try the same examples on every run, however slow the machine is.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

_broke = runner.broke


def _raised(error: Exception) -> Outcome:
    """A check that breaks becomes a finding of status `error`, which a test that looks for others would overlook."""
    raise AssertionError("a check broke") from error


runner.broke = _raised


@pytest.fixture
def checks_may_break(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For the tests of the runner itself: a check that breaks is a finding, as it is for users."""
    monkeypatch.setattr(runner, "broke", _broke)
    yield
