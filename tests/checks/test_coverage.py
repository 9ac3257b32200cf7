"""Every check is seen both ok and not ok, or has a reason why not."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.checks.coverage import coverage, information


@pytest.mark.thorough
def test_every_check_is_seen_ok_and_not_ok() -> None:
    seen = {id: coverage()[id] for id in all_checks()}
    assert [id for id, (bad, _) in seen.items() if bad and id in information()] == [], "these only inform"
    assert [id for id, (bad, _) in seen.items() if not bad and id not in information()] == [], "never seen not ok"
    assert [id for id, (_, good) in seen.items() if not good] == [], "never seen ok"


def test_every_signature_points_to_a_check() -> None:
    assert {row.signature.split("/")[0] for row in read(Signature)} <= set(all_checks())
