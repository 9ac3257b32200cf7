"""What the program answers to the labelled reports: `python -m tests.reports.score [BATCH]` prints a table.

A question has a text of a few words, so that a warning may be all that can be said: it is an answer where nothing
fails. A healthy question gets neither.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Answer:
    """What the program said of one report, and what its label makes of that."""

    name: str
    family: str
    kind: str  # faulty, healthy or unrelated
    outcome: str  # right, missed, wrong, false alarm or crash
    first_fail: str


def batches() -> tuple[str, ...]:
    """The folders of labelled reports and of questions."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/*.csv")))


def answers(batch: str) -> Iterator[Answer]:
    """The program's answer to every report or question of a batch."""
    labels = FOLDER / batch / "labels.csv"
    for label in _rows(labels) if labels.exists() else _rows(FOLDER / batch / "questions.csv"):
        findings = _asked(label["text"]) if "text" in label else _findings(FOLDER / batch / f"{label['name']}.txt")
        first = _first(findings or [], "fail")
        if "text" in label and not first:
            warned = _first(findings or [], "warn")
            first = warned if label["kind"] != "faulty" or warned in label["accepted_ids"].split("|") else ""
        yield Answer(label["name"], label["family"], label["kind"], _outcome(label, findings, first), first)


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _asked(text: str) -> list[dict[str, str]] | None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as stream:
        stream.write(f"{text}\n")
        stream.flush()
        return _findings(Path(stream.name))


def _first(findings: list[dict[str, str]], status: str) -> str:
    return next((finding["id"] for finding in findings if finding["status"] == status), "")


def _outcome(label: dict[str, str], findings: list[dict[str, str]] | None, first: str) -> str:
    if findings is None or any(finding["status"] == "error" for finding in findings):
        return "crash"
    if first in label["accepted_ids"].split("|"):  # of a machine without an NVIDIA GPU one may say so
        return "right"
    if label["kind"] != "faulty":
        return "false alarm" if first else "right"
    return "wrong" if first else "missed"


def _findings(report: Path) -> list[dict[str, str]] | None:
    """The findings on a report; None where the program ended in another way than with a report."""
    from envkit.cli.boundary import exit_code

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = exit_code(["doctor", "--from", str(report), "--json"])
    if code not in (0, 1):
        return None
    findings: list[dict[str, str]] = json.loads(out.getvalue())["findings"]
    return findings


def main() -> int:
    """One line per report that was not answered rightly, and the sums of each batch."""
    for batch in sys.argv[1:] or batches():
        found = list(answers(batch))
        for answer in found:
            if answer.outcome != "right":
                print(f"{answer.name}  {answer.family}: {answer.outcome}  {answer.first_fail}")
        for kind, outcomes in sorted(_by_kind(found).items()):
            print(f"{batch} {kind}: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 0


def _by_kind(found: list[Answer]) -> dict[str, Counter[str]]:
    kinds: dict[str, Counter[str]] = {}
    for answer in found:
        kinds.setdefault(answer.kind, Counter())[answer.outcome] += 1
    return kinds


if __name__ == "__main__":
    sys.exit(main())
