"""No regular expression of the program takes more than linear time, whatever the text: each is tried on its worst."""

from __future__ import annotations

import csv
import itertools
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import cache, partial
from types import FrameType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envkit.ingest import parse_text
from tests.patterns import inventory
from tests.patterns.attacks import QUICK, THOROUGH, Attack, Effort
from tests.patterns.inventory import ROOT, Pattern
from tests.patterns.tried import DAYS, digest, due, on_record
from tests.processor_time import least_seconds

LIMIT = 0.004  # seconds of processor time per thousand characters, on a slow and busy machine; most take 2 % of it
ALL_READERS = 0.006  # the same for all readers and signatures together
READERS_DAYS = 3  # until each expression of a reader has been tried on all readers together
SHARES = 16  # of the thorough test, so that several processors share it


class _TooSlow(Exception):
    """An expression used up its time."""


@cache
def patterns() -> tuple[Pattern, ...]:
    return tuple(inventory.patterns())


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raises _TooSlow when the block takes more processor time; Python's expressions let themselves be interrupted."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _search(pattern: Pattern, compiled: re.Pattern[str], text: str, limit: float) -> None:
    """Finds all that there is in `text`, or gives up after three times the limit."""
    try:
        with _at_most(3 * limit):
            if pattern.from_the_start:
                compiled.match(text)
                compiled.fullmatch(text)
            else:
                for _ in compiled.finditer(text):
                    pass
    except _TooSlow:
        pass


def slow_on(pattern: Pattern, texts: Iterable[str]) -> str:
    """The first of `texts` that takes too long, with its time, or ''; a second look is for machines that were busy."""
    compiled = pattern.compiled()
    for text in texts:
        limit = LIMIT * max(len(text), 1000) / 1000
        best = least_seconds(partial(_search, pattern, compiled, text, limit), limit, tries=6)
        if best > limit:
            return f"{best / len(text) * 1e6:.1f} ms per thousand characters: {text[:60]!r}"
    return ""


def slow(tried: Iterable[Pattern], effort: Effort) -> list[str]:
    found = [(pattern, slow_on(pattern, Attack(pattern.compiled()).texts(effort))) for pattern in tried]
    return [f"{pattern.where} {pattern.text!r}: {why}" for pattern, why in found if why]


@pytest.mark.thorough
def test_every_pattern_is_known() -> None:
    assert len(patterns()) > 650
    assert inventory.unexplained() == [], "say in MADE what these expressions are made of"
    assert inventory.made_nowhere() == []
    assert inventory.renamed() == []


def test_every_table_of_patterns_is_known() -> None:
    with_patterns = {
        path.relative_to(ROOT / "data").as_posix()
        for path in (ROOT / "data").rglob("*.csv")
        if "pattern" in next(csv.reader([path.read_text("utf-8").split("\n", 1)[0]]))
    }
    by_grep = {"installer_failures.csv"}  # searched by the scripts with grep, which takes linear time
    tried = {pattern.where.partition(":")[0] for pattern in inventory.made_patterns()}
    assert {name.rpartition("/")[2] for name in with_patterns} - by_grep <= tried


@pytest.mark.thorough
def test_a_few_patterns_are_not_slow_on_their_own_parts() -> None:
    assert slow(patterns()[::16], QUICK) == []


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_no_pattern_is_slow_on_all_its_parts(share: int) -> None:
    assert slow(due(patterns(), date.today())[share::SHARES], THOROUGH) == []


@pytest.mark.thorough
def test_a_pattern_is_due_until_it_is_on_record_and_then_every_eighth_day() -> None:
    days = [date(2026, 1, 1 + day) for day in range(DAYS)]
    new = Pattern("here", "a new (?:one)?")
    assert digest(new) not in on_record() and all(due([new], day) for day in days)
    assert digest(new) != digest(replace(new, from_the_start=True))
    recorded = [pattern for pattern in patterns() if digest(pattern) in on_record()]
    assert len(recorded) > 650
    turns = [due(recorded, day) for day in days]
    assert sorted(map(digest, itertools.chain(*turns))) == sorted(map(digest, dict.fromkeys(recorded)))


@pytest.mark.thorough
@settings(max_examples=1500)
@given(data=st.data(), number=st.integers(0, 10_000), cut=st.integers(0, 60))
def test_no_pattern_is_slow_on_what_it_nearly_matches(data: st.DataObject, number: int, cut: int) -> None:
    pattern = patterns()[number % len(patterns())]
    assume(not any("\ud800" <= letter <= "\udfff" for letter in str(pattern.text)))  # no character: cannot be drawn
    text = data.draw(st.from_regex(pattern.compiled()))
    part = text[: max(len(text) - cut, 1)] or "\n"
    assert slow_on(pattern, [part * (4000 // len(part) + 1)]) == "", pattern.where


@pytest.mark.thorough
def test_no_reader_breaks_on_a_number_without_end() -> None:
    for pattern in patterns():
        if pattern.where.startswith(("envkit.ingest", "signatures.csv")):
            numbers = [text for text in Attack(pattern.compiled()).texts(QUICK) if "0" * 4400 in text]
            parse_text("\n".join(text[:-600] for text in numbers))


@pytest.mark.thorough
@pytest.mark.parametrize("share", range(SHARES))
def test_all_readers_together_are_not_slow_on_what_one_of_them_looks_for(share: int) -> None:
    tried = [pattern for pattern in patterns() if pattern.where.startswith(("envkit.ingest", "signatures.csv"))]
    assert len(tried) > 350
    for pattern in tried[share::SHARES][date.today().toordinal() % READERS_DAYS :: READERS_DAYS]:
        for text in list(Attack(pattern.compiled()).texts(QUICK))[::24]:
            long = text * (8000 // len(text) + 1)
            limit = 0.05 + ALL_READERS * len(long) / 1000
            assert least_seconds(partial(parse_text, long), limit) < limit, (pattern.where, text[:80])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (r"(?:[\w. -]{1,60}\\?){0,12}>", "repeats of a repeat"),
        (r"[^\n]*\r(?=[^\n])", "a line read from each of its places"),
        (r"^(?!\s*#).*?(https?://\S+)", "blanks across lines"),
        (r"(?:_\w+)?\w+\.so", "two that take the same letters"),
        (r"(a|aa)+b", "two ways to take the same"),
    ],
)
def test_slow_patterns_are_found(text: str, why: str) -> None:
    longer = replace(QUICK, size=4 * QUICK.size)  # on a fast machine a short text is within any limit
    assert slow([Pattern("here", text, re.MULTILINE)], longer), why
