"""The table of known reports says what the labeled reports say, and no more: causes that checks look for, and words."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.ingest.likeness import CAUSES, COMMENT, NOTHING_WRONG, Known, Likeness, is_prose, terms
from tools.data.known_reports import TABLE, Example, batches_learned, digest, examples, table

WORDS = re.compile(r"(?:[a-z][a-z0-9_]{1,24}|[\u4e00-\u9fff])(?: (?:[a-z][a-z0-9_]{1,24}|[\u4e00-\u9fff]))?")
TAUGHT = (
    Example("first", "no-power", "my desktop shuts down under load"),
    Example("first", "no-power", "it shuts down, the PSU has 850 watt"),
    Example("second", "no-driver", "nouveau is loaded under Linux"),
    Example("second", "no-driver", "lsmod says nouveau is loaded"),
    Example("", NOTHING_WRONG, "thanks, that solved it"),
    Example("", NOTHING_WRONG, "solved, thanks"),
    Example("", "image.gone", "the tag of the base is gone"),
)


def lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if not line.startswith(COMMENT)]


def test_the_table_was_learned_from_the_reports_that_there_are() -> None:
    assert f"{COMMENT} Digest: {digest(examples())}" in TABLE.read_text("utf-8").splitlines()[:3], (
        "run `python -m tools.data.known_reports`"
    )


@pytest.mark.thorough
def test_the_table_is_what_the_generator_writes() -> None:
    assert TABLE.read_text("utf-8") == table(examples())


def test_every_cause_is_one_that_a_check_looks_for() -> None:
    [[_, *causes]] = [row for row in lines(TABLE.read_text("utf-8")) if row[0] == CAUSES]
    assert set(causes) - {NOTHING_WRONG} <= set(all_checks())


def test_the_table_holds_words_and_pairs_and_no_sentence() -> None:
    terms_held = [row[0] for row in lines(TABLE.read_text("utf-8")) if row[0] != CAUSES]
    assert len(terms_held) > 10_000
    assert [term for term in terms_held if not WORDS.fullmatch(term)] == []


def test_what_is_learned_is_said_again_of_the_like() -> None:
    known = Known(table(TAUGHT))
    assert [likeness.cause for likeness in known.ranked("the desktop shuts down at once")][:1] == ["no-power"]
    assert [likeness.cause for likeness in known.ranked("it says that nouveau is loaded")][:1] == ["no-driver"]
    assert known.ranked("nothing of these words") == known.ranked("") == ()


def test_a_term_of_one_example_alone_and_a_cause_of_images_are_left_out() -> None:
    rows = lines(table(TAUGHT))
    assert {row[0] for row in rows} >= {"shuts", "shuts down", "nouveau", "solved"}
    assert {row[0] for row in rows}.isdisjoint({"desktop", "psu", "gone"})
    assert all("image" not in cause for row in rows for cause in row)


def test_scores_are_sums_of_weights_by_rarity() -> None:
    known = Known(f"{CAUSES}\tone\ttwo\nblue\t3000\t0:500,1:-100\nred\t4000\t0:250,1:1000\n")
    assert known.ranked("blue") == (Likeness("one", 0.5),)
    assert [(like.cause, round(like.score, 3)) for like in known.ranked("red and blue")] == [
        ("two", 0.74),
        ("one", 0.5),
    ]


def test_terms_are_words_that_say_something_and_pairs_of_them() -> None:
    assert terms("The GPU is at 0x7f00: GPU lost!") == {"gpu", "hex", "lost", "gpu hex", "hex gpu", "gpu lost"}
    assert "卡" in terms("显卡没了")


def test_words_in_no_order_are_no_prose() -> None:
    assert is_prose("It is gone after the update.") and is_prose("显卡没了")
    assert not is_prose("CUDA error GPU lost On Off driver 535 None None A100")


def test_the_table_names_the_batches_that_it_knows() -> None:
    assert {"batch-1", "batch-36", "questions-2"} <= batches_learned()
