"""Writes `envkit/data/known_reports.txt`: how much each word of a report speaks for each cause.

Run `python -m tools.data.known_reports` after reports were added to tests/reports or messages to signatures.csv; it
takes a minute or two. It learns from the labeled reports and questions, from what their labels say of the cause, from
the short and the healthy texts of tests/texts, and from the examples of known messages. The table holds words and pairs
of words with weights, never a sentence.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envkit.ingest.likeness import CAUSES, COMMENT, NOTHING_WRONG, PER_UNIT, terms
from tools.data.linear import Learned, learned

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests/reports"
TEXTS = ROOT / "tests/texts"
MESSAGES = ROOT / "envkit/data/signatures.csv"
TABLE = ROOT / "envkit/data/known_reports.txt"
_NOTHING_FAILS = "none"  # how an expectation says so
_NO_CHECK = "none-fits"  # how a label says that no check looks for its cause
_OF_IMAGES = "image."  # causes that `dockerfile --check` looks for, and no check of a machine
_LONGEST_TOLD = 1000  # characters of a faulty text of tests/texts: longer ones are tables of machines
_KEPT = 60_000  # weights in the table; with twice as many no more unseen reports were answered rightly
_LEARNED_FROM = f"{COMMENT} Learned from: "


@dataclass(frozen=True)
class Example:
    """A text whose cause is known, and the batch that it is of, '' for a message."""

    batch: str
    cause: str
    text: str


def examples() -> Iterator[Example]:
    """Everything to learn from, in order."""
    for source in sorted(REPORTS.glob("*/*.csv")):
        for label in _rows(source):
            cause = _cause(label)
            text = label.get("text") or (source.parent / f"{label['name']}.txt").read_text(encoding="utf-8")
            yield Example(source.parent.name, cause, text)
            if cause != NOTHING_WRONG:
                yield Example(source.parent.name, cause, f"{label.get('cause', '')} {label.get('evidence', '')}")
    for row in _rows(TEXTS / "expected.csv"):
        accepted = (row["fail"] if row["fail"] != _NOTHING_FAILS else row["warn"]) or NOTHING_WRONG
        told = (TEXTS / f"{row['text']}.txt").read_text(encoding="utf-8", errors="replace")
        if len(told) <= _LONGEST_TOLD or accepted == NOTHING_WRONG:
            yield Example("", accepted.partition(";")[0].partition("|")[0], told)
    for message in _rows(MESSAGES):
        yield Example("", message["signature"].partition("/")[0], message["example"])


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _cause(label: dict[str, str]) -> str:
    first = label["accepted_ids"].partition("|")[0]
    return NOTHING_WRONG if label["kind"] != "faulty" or first in ("", _NO_CHECK) else first


def table(texts: Iterable[Example]) -> str:
    """The file: which batches it knows, a digest of what it was learned from, the causes, and a line for each term."""
    used = _of_machines(texts)
    known = learned([(example.cause, terms(example.text)) for example in used], _KEPT)
    batches = sorted({example.batch for example in used} - {""})
    head = (
        f"{COMMENT} Written by `python -m tools.data.known_reports`: causes, and terms with their weights for them.\n"
        f"{_LEARNED_FROM}{' '.join(batches)}\n{COMMENT} Digest: {digest(used)}\n"
    )
    return head + "".join(f"{line}\n" for line in _lines(known))


def _lines(known: Learned) -> Iterator[str]:
    causes = sorted({cause for weights in known.weights.values() for cause in weights})
    numbers = {cause: number for number, cause in enumerate(causes)}
    yield "\t".join((CAUSES, *causes))
    for term in sorted(known.weights):
        rounded = {cause: round(PER_UNIT * weight) for cause, weight in sorted(known.weights[term].items())}
        told = ",".join(f"{numbers[cause]}:{weight}" for cause, weight in rounded.items() if weight)
        if told:
            yield f"{term}\t{round(PER_UNIT * known.rarities[term])}\t{told}"


def _of_machines(texts: Iterable[Example]) -> list[Example]:
    return [example for example in texts if not example.cause.startswith(_OF_IMAGES)]


def digest(texts: Iterable[Example]) -> str:
    """What tells whether the examples are those that the table was learned from."""
    held = hashlib.sha256()
    for example in _of_machines(texts):
        held.update(f"{example.cause}\t{sorted(terms(example.text))}\n".encode())
    return held.hexdigest()[:16]


def batches_learned() -> frozenset[str]:
    """The batches that the table was learned from: what it says of them is no measure."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    told = (line.removeprefix(_LEARNED_FROM) for line in lines if line.startswith(_LEARNED_FROM))
    return frozenset(next(told).split())


def main() -> int:
    """Writes the table."""
    TABLE.write_text(table(examples()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
