"""What known causes a text reads like: its words and pairs of neighboring words each speak for or against causes.

The table holds, for each term, how rare it is and its weight for each cause that it tells something about. The weights
were learned from reports whose cause is known (`tools/data/known_reports.py`); the table holds terms, never sentences.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.tables.loader import DATA, file_bytes

NOTHING_WRONG = "none"  # the cause of a report of a healthy machine, or of a fault that is none of the environment's
COMMENT, CAUSES = "#", "=causes"  # how a line of comment begins, and the name of the line that lists the causes
PER_UNIT = 1000  # weights and rarities are whole numbers of thousandths in the table
_TABLE = "known_reports.txt"
_LONGEST = 50_000  # characters of a text that are read: the tale is before the logs
_IN_PROSE = 3  # 97 of 100 reports have as many, words in no order have two at most
_HEX = regex(r"\b0x[0-9a-f]+")
_WORD = regex(r"[a-z][a-z0-9_]{1,24}|[\u4e00-\u9fff]")
_COMMON = frozenset(
    ("an", "and", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its", "my", "not", "no", "of", "on", "or")
    + ("that", "the", "this", "to", "was", "we", "with", "you")
)


@record
class Likeness:
    """A cause, and how clearly a text reads like the reports with it: 1 where it is as clear as in those reports."""

    cause: str
    score: float


def terms(text: str) -> frozenset[str]:
    """The words of a text that say something, and each two of them that follow each other."""
    plain = _HEX.sub("hex", text[:_LONGEST].lower())
    words = [word for word in _WORD.findall(plain) if word not in _COMMON]
    return frozenset((*words, *map(" ".join, zip(words, words[1:], strict=False))))


def is_prose(text: str) -> bool:
    """Whether somebody says something: three of the words that every sentence has, or as many Chinese characters."""
    words = set(_WORD.findall(text[:_LONGEST].lower()))
    return len(words & _COMMON) + sum(len(word) == 1 for word in words) >= _IN_PROSE


def scaled(rarities: Mapping[str, float]) -> dict[str, float]:
    """The terms of one text with their rarity, so that a long text weighs as much as a short one."""
    length = math.sqrt(sum(rarity**2 for rarity in rarities.values())) or 1.0
    return {term: rarity / length for term, rarity in rarities.items()}


class Known:
    """What the known reports taught, as something to compare a text with."""

    def __init__(self, table: str) -> None:
        lines = (line for line in table.splitlines() if not line.startswith(COMMENT))
        self._rows = dict(line.split("\t", 1) for line in lines)
        self._causes = self._rows.pop(CAUSES).split("\t")

    def ranked(self, text: str) -> tuple[Likeness, ...]:
        """The causes that something in a text speaks for, the likeliest first."""
        held = {term: self._rows[term].split("\t") for term in sorted(terms(text)) if term in self._rows}
        scores: dict[str, float] = {}
        shares = scaled({term: int(rarity) / PER_UNIT for term, (rarity, _) in held.items()})
        for term, (_, weights) in held.items():
            for weight in weights.split(","):
                number, _, value = weight.partition(":")
                cause = self._causes[int(number)]
                scores[cause] = scores.get(cause, 0.0) + shares[term] * int(value) / PER_UNIT
        ranked = sorted(scores, key=lambda cause: (-scores[cause], cause))
        return tuple(Likeness(cause, scores[cause]) for cause in ranked if scores[cause] > 0)


@cache
def known_reports() -> Known:
    """What the table holds."""
    return Known(file_bytes(os.path.join(DATA, _TABLE)).decode("utf-8"))
