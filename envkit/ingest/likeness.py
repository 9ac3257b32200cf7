"""What known report a text reads like: the nearest of them by the words that they share, and how clearly.

The table holds reports whose cause is known, each as the words and pairs of neighboring words that it shares with other
reports of this cause. A rare word weighs more than a frequent one; the eight nearest reports vote for their cause, by
how near they are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from functools import cache

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.tables.loader import DATA, file_bytes

NOTHING_WRONG = "none"  # the cause of a report of a healthy machine, or of a fault that is none of the environment's
_TABLE = "known_reports.txt"
_WORD = regex(r"[a-z0-9]{1,24}")
_COMMON = frozenset(
    (
        "a",
        "an",
        "and",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "i",
        "in",
        "is",
        "it",
        "its",
        "my",
        "not",
        "no",
        "of",
        "on",
    )
    + ("or", "that", "the", "this", "to", "was", "we", "with", "you")
)
_VOTERS = 8


@record
class Likeness:
    """The cause that most of the nearest reports have: their votes for it, and by how much it leads the second one."""

    cause: str
    votes: float
    lead: float


def terms(text: str) -> frozenset[str]:
    """The words of a text that say something, and each two of them that follow each other."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    return frozenset((*words, *map(" ".join, zip(words, words[1:], strict=False))))


class Known:
    """Reports whose cause is known, as something to compare a text with."""

    def __init__(self, reports: Iterable[tuple[str, frozenset[str]]]) -> None:
        self._causes: list[str] = []
        held: dict[str, list[int]] = {}
        for number, (cause, words) in enumerate(reports):
            self._causes.append(cause)
            for word in words:
                held.setdefault(word, []).append(number)
        count = len(self._causes)
        self._reports_of = held
        self._weights = {word: math.log(count / len(numbers)) for word, numbers in held.items()}
        squares = [0.0] * count
        for word, numbers in held.items():
            for number in numbers:
                squares[number] += self._weights[word] ** 2
        self._lengths = [math.sqrt(square) or 1.0 for square in squares]

    def nearest(self, text: str) -> Likeness | None:
        """The likeliest cause of what a text tells, None where it shares no word with any report."""
        own = {word: self._weights[word] for word in terms(text) if word in self._weights}
        length = math.sqrt(sum(weight**2 for weight in own.values()))
        shared: dict[int, float] = {}
        for word, weight in own.items():
            for number in self._reports_of[word]:
                shared[number] = shared.get(number, 0.0) + weight**2
        if not length or not shared:
            return None
        near = {number: value / (length * self._lengths[number]) for number, value in shared.items()}
        voters = sorted(near, key=lambda number: (-near[number], number))[:_VOTERS]
        return self._elected({number: near[number] for number in voters})

    def _elected(self, near: Mapping[int, float]) -> Likeness:
        votes: dict[str, float] = {}
        for number, likeness in near.items():
            cause = self._causes[number]
            votes[cause] = votes.get(cause, 0.0) + likeness
        first, *others = sorted(votes, key=lambda cause: (-votes[cause], cause))
        return Likeness(first, votes[first], votes[first] - (votes[others[0]] if others else 0.0))


@cache
def known_reports() -> Known:
    """The reports of the table."""
    lines = file_bytes(os.path.join(DATA, _TABLE)).decode("ascii").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return Known((cause, frozenset(words.split(","))) for cause, words in rows)
