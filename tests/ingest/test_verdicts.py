"""The checks judge every text: the first `fail` is the one expected, and a text that shows nothing wrong has none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.tables import Matrix
from tests.ingest.texts import Case, cases

MATRIX = Matrix.load()


def findings(text: str) -> list[Finding]:
    return run_checks(parse_text(text), MATRIX, all_checks().values())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_first_fail_is_the_root_cause(case: Case) -> None:
    found = findings(case.text)
    assert [finding.title for finding in found if finding.status is Status.ERROR] == []
    warned = {finding.id for finding in found if finding.status is Status.WARN}
    assert warned == set(case.warn) if case.healthy else warned >= set(case.warn)
    assert next((finding.id for finding in found if finding.status is Status.FAIL), "none") == case.fail
