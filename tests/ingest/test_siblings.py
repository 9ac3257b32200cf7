"""Short texts in other words than those from which a class of words was learned: each finds its cause, or stays silent.

A row of `siblings.csv` holds a text and the checks one of which has to come first; `none` where nothing may be found.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.likened import is_likened
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from tests.checks.software import matrix

with open(Path(__file__).with_name("siblings.csv"), encoding="utf-8", newline="") as stream:
    ROWS = [(row["text"], row["accepted"]) for row in csv.DictReader(stream)]
SAMPLE = 9  # of so many texts, one is asked in a quick run


def first_finding(text: str, *, likened: bool = False) -> str:
    """The check of the first failure, or of the first warning where nothing fails; `none` without either.

    What the text only reads like is no finding, but an answer, of the verdict "unknown", where it is `likened`.
    """
    findings = run_checks(parse_text(text), matrix(), all_checks().values())
    counted = (each for each in findings if likened or not is_likened(each))
    return next((each.id for each in counted if each.status in (Status.FAIL, Status.WARN)), "none")


def _answered_otherwise(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    answers = [(text, accepted, first_finding(text, likened=accepted != "none")) for text, accepted in rows]
    return [(text, answer) for text, accepted, answer in answers if answer not in accepted.split("|")]


def test_a_sample_of_the_short_texts_is_answered_rightly() -> None:
    assert _answered_otherwise(ROWS[::SAMPLE]) == []


@pytest.mark.thorough
def test_every_short_text_is_answered_rightly() -> None:
    assert _answered_otherwise(ROWS) == []
