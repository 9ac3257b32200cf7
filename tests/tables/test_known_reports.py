"""The table of known reports says what the labeled reports say, and no more: causes that checks look for, and words."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.ingest.likeness import NOTHING_WRONG, Known, terms
from tools.data.known_reports import KEPT, TABLE, labeled, rows, table

WORDS = re.compile(r"[a-z0-9]{1,24}(?: [a-z0-9]{1,24})?")


def lines() -> list[tuple[str, list[str]]]:
    held = (line.split("\t") for line in TABLE.read_text(encoding="ascii").splitlines() if not line.startswith("#"))
    return [(cause, words.split(",")) for cause, words in held]


@pytest.mark.thorough
def test_the_table_is_what_the_generator_writes() -> None:
    assert TABLE.read_text(encoding="ascii") == table(labeled()), "run `python -m tools.data.known_reports`"


def test_every_cause_is_one_that_a_check_looks_for() -> None:
    assert {cause for cause, _ in lines()} - {NOTHING_WRONG} <= set(all_checks())


def test_the_table_holds_words_and_pairs_and_no_sentence() -> None:
    for cause, words in lines():
        assert 0 < len(words) <= KEPT, cause
        assert [word for word in words if not WORDS.fullmatch(word)] == []


def test_a_word_of_one_report_alone_is_left_out() -> None:
    reports = [report for report in labeled() if report.batch == "batch-1"]
    told: dict[str, list[frozenset[str]]] = {}
    for report in reports:
        told.setdefault(report.cause, []).append(terms(report.text))
    for cause, words in rows(reports):
        assert all(sum(word in own for own in told[cause]) > 1 for word in words)


def test_a_report_of_a_batch_that_is_left_out_is_not_known() -> None:
    assert {report.batch for report in labeled(without=("batch-1",))}.isdisjoint({"batch-1"})
    assert "batch-1" in {report.batch for report in labeled()}


def test_the_nearest_reports_vote_for_their_cause() -> None:
    known = Known(
        (
            ("no-power", frozenset(("desktop", "shuts", "shuts down", "psu"))),
            ("no-power", frozenset(("restarts", "psu", "watt"))),
            ("no-driver", frozenset(("nouveau", "loaded"))),
            (NOTHING_WRONG, frozenset(("thanks", "solved"))),
        )
    )
    nearest = known.nearest("my desktop shuts down, PSU has 850 W")
    assert nearest is not None
    assert (nearest.cause, nearest.lead == nearest.votes) == ("no-power", True)
    assert known.nearest("nothing of this") is None
    assert known.nearest("") is None
