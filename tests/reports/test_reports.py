"""Reports of the world, labeled before the program saw them: no score is asserted, only that each is answered."""

from __future__ import annotations

import pytest

from tests.reports.score import answers, batches
from tests.sweeps import turn


@pytest.mark.thorough
@pytest.mark.parametrize("batch", batches())
def test_every_report_gets_an_answer(batch: str) -> None:
    found = list(answers(batch, turn(2), 2))
    assert found
    assert [answer.name for answer in found if answer.outcome == "crash"] == []
