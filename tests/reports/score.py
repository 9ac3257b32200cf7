"""What the program answers to the labelled reports: `python -m tests.reports.score [BATCH]` prints a table."""

from __future__ import annotations

import csv
import io
import json
import sys
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
    """The folders of labelled reports, oldest first."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("batch-*/labels.csv")))


def answers(batch: str) -> Iterator[Answer]:
    """The program's answer to every report of a batch."""
    with open(FOLDER / batch / "labels.csv", encoding="utf-8", newline="") as stream:
        for label in csv.DictReader(stream):
            findings = _findings(FOLDER / batch / f"{label['name']}.txt")
            fails = [finding["id"] for finding in findings or () if finding["status"] == "fail"]
            first = fails[0] if fails else ""
            yield Answer(label["name"], label["family"], label["kind"], _outcome(label, findings, first), first)


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
