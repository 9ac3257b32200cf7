"""What has passed is noted in a file, and what an earlier file notes is not run again.

The gate runs the quick tests in a bare distribution first, and then all that did not pass there. And the test runner
itself can break, as where a worker's own code raises: it then ends with an internal error, and the tests that were left
are never run. `.ci/run` starts those, and only those.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.gate import BEFORE, NOTED


class _Notes:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._not_passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a test's three reports the last one, of its teardown, says that all went well."""
        if not report.passed:
            self._not_passed.add(report.nodeid)
        if report.when == "teardown" and report.nodeid not in self._not_passed:
            with self._path.open("a", encoding="utf-8") as notes:
                notes.write(f"{report.nodeid}\n")


def register(config: pytest.Config) -> None:
    """Have the notes taken, by the process that hears of all workers."""
    if path := os.environ.pop(NOTED, None):  # workers and runs within tests have none
        config.pluginmanager.register(_Notes(Path(path)))


def leave_out_what_passed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out of `items` what an earlier run has noted."""
    path = os.environ.pop(BEFORE, None)  # runs within tests have none
    if path is None:
        return
    passed = frozenset(Path(path).read_text("utf-8").splitlines())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]
