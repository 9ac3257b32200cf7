"""Every entry of the catalogue of failures is a check that is seen both ok and not ok, or has a reason why not."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.checks.coverage import catalogue, coverage, information, not_implemented

IDS = [row["id"] for row in catalogue()]


def test_the_catalogue_is_whole() -> None:
    assert len(IDS) == len(set(IDS))


def test_every_entry_is_a_check_or_has_a_reason() -> None:
    checks, reasons = set(all_checks()), not_implemented()
    assert set(IDS) - checks == set(reasons)
    assert all(reasons.values())


def test_every_check_is_an_entry() -> None:
    assert set(all_checks()) <= set(IDS)


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
