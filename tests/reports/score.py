"""What the program answers to the labeled reports: `python -m tests.reports.score [BATCH]` prints a table.

A question has a text of a few words, so that a warning may be all that can be said: it is an answer where nothing
fails. A healthy question gets neither. A cause that is named because the text reads like known reports is counted apart
("possible …"); a batch that the table of known reports was learned from gets no such hints.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from envkit.checks.engine.likened import MARK
from envkit.ingest.likeness import CAUSES, Known
from tools.data.known_reports import batches_learned

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Answer:
    """What the program said of one report, and what its label makes of that."""

    name: str
    family: str
    kind: str  # faulty, healthy or unrelated
    outcome: str  # right (or right as a warning), missed, wrong, false alarm or crash; the others may be possible ones
    first_fail: str


def batches() -> tuple[str, ...]:
    """The folders of labeled reports and of questions."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/*.csv")))


def answers(batch: str, first: int = 0, each: int = 1) -> Iterator[Answer]:
    """The program's answer to every report or question of a batch, or to each so many-th from the first one on."""
    with _known_without(batch):
        yield from map(_answer, _labels(batch)[first::each])


@contextmanager
def _known_without(batch: str) -> Iterator[None]:
    """The program with a table of known reports that has learned nothing from the batch."""
    if batch not in batches_learned():
        yield
        return
    with patch("envkit.ingest.resemblance.known_reports", lambda: Known(f"{CAUSES}\t\n")):
        yield


def _labels(batch: str) -> list[dict[str, str]]:
    """The label of each question, which holds its text, or of each report, with the file that does."""
    folder = FOLDER / batch
    if (folder / "questions.csv").exists():
        return _rows(folder / "questions.csv")
    return [label | {"file": str(folder / f"{label['name']}.txt")} for label in _rows(folder / "labels.csv")]


def _answer(label: dict[str, str]) -> Answer:
    findings = _asked(label["text"]) if "text" in label else _findings(Path(label["file"]))
    told = [finding for finding in findings or [] if not _is_hint(finding)]
    first = _first(told, "fail")
    if "text" in label and not first:
        warned = _first(told, "warn")
        first = warned if label["kind"] != "faulty" or warned in label["accepted_ids"].split("|") else ""
    outcome = _outcome(label, findings, first)
    warned = _first(told, "warn")
    if outcome == "missed" and warned in label["accepted_ids"].split("|"):
        first, outcome = warned, "right as a warning"
    hint = next((str(finding["id"]) for finding in findings or [] if _is_hint(finding)), "")
    if hint and not first and outcome != "crash":
        first, outcome = hint, f"possible {_outcome(label, findings, hint)}"
    return Answer(label["name"], label["family"], label["kind"], outcome, first)


def _is_hint(finding: dict[str, Any]) -> bool:
    return any(item["source"].endswith(MARK) for item in finding["evidence"])


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _asked(text: str) -> list[dict[str, Any]] | None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as stream:
        stream.write(f"{text}\n")
        stream.flush()
        return _findings(Path(stream.name))


def _first(findings: list[dict[str, Any]], status: str) -> str:
    return next((str(finding["id"]) for finding in findings if finding["status"] == status), "")


def _outcome(label: dict[str, str], findings: list[dict[str, Any]] | None, first: str) -> str:
    if findings is None or any(finding["status"] == "error" for finding in findings):
        return "crash"
    if (first or "ok") in label["accepted_ids"].split("|"):  # also of a machine without an NVIDIA GPU one may say so
        return "right"
    if label["kind"] != "faulty":
        return "false alarm" if first else "right"
    return "wrong" if first else "missed"


def _findings(report: Path) -> list[dict[str, Any]] | None:
    """The findings on a report; None where the program ended in another way than with a report."""
    from envkit.cli.boundary import exit_code

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = exit_code(["doctor", "--from", str(report), "--json"])
    if code not in (0, 1):
        return None
    findings: list[dict[str, Any]] = json.loads(out.getvalue())["findings"]
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
