"""Every check is seen both ok and not ok, or has a reason why not."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.checks.coverage import coverage, information


@pytest.mark.parametrize("id", sorted(all_checks()))
def test_a_check_is_seen_ok_and_not_ok(id: str) -> None:
    bad, good = coverage()[id]
    if id in information():
        assert not bad, f"it only informs, but is not ok in {bad}"
    else:
        assert bad, "no machine, text or case where it is not ok"
    assert good, "no machine, text or case where it is ok"


def test_every_signature_points_to_a_check() -> None:
    assert {row.signature.split("/")[0] for row in read(Signature)} <= set(all_checks())
