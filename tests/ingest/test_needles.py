"""Patterns are tried only in lines that hold one of their needles, and find there what they would find anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from envkit.ingest import parse_text
from envkit.ingest.cleaning import clean
from envkit.ingest.text import Text
from tests.ingest.texts import cases
from tests.patterns.attacks import Attack

Use = tuple[re.Pattern[str], tuple[str, ...], int]


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> dict[str, Use]:
    """The patterns that readers try, with their needles; each use is compared with a search of the whole text."""
    seen: dict[str, Use] = {}
    fast = Text.matches

    def both(self: Text, pattern: re.Pattern[str], *needles: str, lines: int = 1) -> Iterator[re.Match[str]]:
        seen[pattern.pattern] = (pattern, needles, lines)
        found = list(fast(self, pattern, *needles, lines=lines))
        assert spans(found) == spans(pattern.finditer(self.whole)), (pattern.pattern, needles, lines)
        return iter(found)

    monkeypatch.setattr(Text, "matches", both)
    return seen


def spans(matches: Iterator[re.Match[str]] | list[re.Match[str]]) -> list[tuple[int, int]]:
    return [match.span() for match in matches]


@pytest.mark.thorough
def test_nothing_is_missed_in_the_recorded_texts_and_in_what_patterns_match(uses: dict[str, Use]) -> None:
    for case in cases():
        parse_text(case.text)
    assert len(uses) > 90
    for pattern, needles, lines in list(uses.values()):
        samples = Attack(pattern).samples()
        assert any(pattern.search(sample) for sample in samples) or "(?=" in pattern.pattern, pattern.pattern
        text = clean("\n".join(f"before\n{sample}\nafter" for sample in samples))
        list(text.matches(pattern, *needles, lines=lines))


def test_a_line_that_repeats_is_looked_at_often_enough() -> None:
    text = clean("torch==2.6.0\n" * 4000 + "numpy==2.0.1\n")
    found = list(text.matches(re.compile(r"^\w+==", re.MULTILINE), "=="))
    assert len(found) == 1001
    assert found[-1].group() == "numpy=="


@pytest.mark.parametrize("needle", ["torch", "TORCH", "-1.3", "", "tor", "\u00e9", "\u6f22", "orch 2"])
def test_no_needle_is_denied_that_is_there(needle: str) -> None:
    text = clean("a\nPyTorch-1.3 \u00e9\u6f22 TORCH\ntorch 2.6")
    assert text.holds(needle) == (needle in text.whole)
