"""A run that broke off goes on: what has passed is noted in a file, and what an earlier file notes is not run again.

The test runner itself can break, as where a worker's own code raises: it then ends with an internal error, and the
tests that were left are never run. `.ci/run` starts those, and only those.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOTED = "ENVKIT_TESTS_NOTED"  # variable: the file to which this run adds the tests that passed or were skipped
BEFORE = "ENVKIT_TESTS_BEFORE"  # variable: such a file of the run that broke off


class _Notes:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a test's three reports the last one, of its teardown, says that all went well."""
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "teardown" and report.nodeid not in self._failed:
            with self._path.open("a", encoding="utf-8") as notes:
                notes.write(f"{report.nodeid}\n")


def register(config: pytest.Config) -> None:
    """Have the notes taken, by the process that hears of all workers."""
    if (path := os.environ.get(NOTED)) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Notes(Path(path)))


def leave_out_what_passed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out of `items` what an earlier run has noted."""
    path = os.environ.get(BEFORE)
    if path is None:
        return
    passed = frozenset(Path(path).read_text("utf-8").splitlines())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]
