"""Writes `envkit/data/known_reports.txt`: what labeled reports have in common with each other, as words.

Run `python -m tools.data.known_reports` after reports were added to tests/reports. Of each report the table holds the
first of its accepted causes and its most distinctive words and pairs of words, never a sentence. A word that no other
report of this cause has says nothing about the cause, and is left out.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envkit.ingest.likeness import NOTHING_WRONG, terms

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests/reports"
TABLE = ROOT / "envkit/data/known_reports.txt"
_HEAD = "# Written by `python -m tools.data.known_reports` from tests/reports: causes, and words of reports.\n"
_NO_CHECK = "none-fits"  # how a label says that no check looks for its cause
_OF_IMAGES = "image."  # causes that `dockerfile --check` looks for, and no check of a machine
KEPT = 60  # words of a report; with more of them fewer unseen reports were answered rightly
_FEWEST = 2  # reports of one cause that hold a word


@dataclass(frozen=True)
class Labeled:
    """A report or a question, and the cause that its label accepts first."""

    batch: str
    name: str
    cause: str
    text: str


def labeled(without: Iterable[str] = ()) -> Iterator[Labeled]:
    """The reports and questions of all batches but some, in order."""
    left_out = frozenset(without)
    for table in sorted(REPORTS.glob("*/*.csv")):
        batch = table.parent.name
        if batch in left_out:
            continue
        with open(table, encoding="utf-8", newline="") as stream:
            for label in csv.DictReader(stream):
                name = label["name"]
                text = label.get("text") or (table.parent / f"{name}.txt").read_text(encoding="utf-8")
                yield Labeled(batch, name, _cause(label), text)


def _cause(label: dict[str, str]) -> str:
    first = label["accepted_ids"].partition("|")[0]
    return NOTHING_WRONG if label["kind"] != "faulty" or first in ("", _NO_CHECK) else first


def rows(reports: Iterable[Labeled]) -> Iterator[tuple[str, frozenset[str]]]:
    """The cause of each report, and the words that tell it from others best: rare ones that its cause has often."""
    told = [(report.cause, terms(report.text)) for report in reports if not report.cause.startswith(_OF_IMAGES)]
    held = Counter(word for _, words in told for word in words)
    in_cause = Counter((cause, word) for cause, words in told for word in words)
    often = ((pair, count) for pair, count in in_cause.items() if count >= _FEWEST)
    weights = {pair: count * math.log(len(told) / held[pair[1]]) for pair, count in often}
    for cause, words in told:
        shared = [word for word in words if (cause, word) in weights]
        if shared:
            yield cause, frozenset(sorted(shared, key=lambda word: (-weights[cause, word], word))[:KEPT])


def table(reports: Iterable[Labeled]) -> str:
    """The file, one report a line."""
    return _HEAD + "".join(f"{cause}\t{','.join(sorted(words))}\n" for cause, words in rows(reports))


def main() -> int:
    """Writes the table."""
    TABLE.write_text(table(labeled()), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
