"""A text that names only a release line is answered with a release of that line, which is no change of release."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from envkit.checks.frameworks.builds import _moved
from envkit.tables import Matrix


@pytest.mark.parametrize(
    ("before", "build", "changes"),
    [("2.4", "2.4.1", False), ("2.4.1", "2.4.1", False), ("2.4.0", "2.4.1", True), ("2.4", "2.5.1", True)],
)
def test_a_release_within_the_line_is_no_change(before: str, build: str, changes: bool) -> None:
    row = next(row for row in Matrix.load().builds("pytorch") if str(row.version) == build)
    assert bool(_moved("PyTorch", Version.parse(before), row, "runs here")) is changes
