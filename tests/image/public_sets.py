"""The public Dockerfiles of tests/image/public with their labels, and the score of `--check` on them.

`python -m tests.image.public_sets` prints the scores; names of files after it print what is said of those.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.dockerfile.check_parts import line_of
from envkit.render.check_report import report_text
from envkit.solver.request import Request
from envkit.tables import Matrix

FOLDER = Path(__file__).with_name("public")
SETS = ("first", *"abcmdefghijknloprqstuvw")
_ASKED = ("fail", "warn")
_OF_THE_BASE = "image.base-"


@dataclass(frozen=True)
class PublicFile:
    """A Dockerfile with what lies next to it and what its expert says."""

    name: str
    text: str
    beside: Mapping[str, str]
    labels: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Told:
    """What the program says of a file that is a fault: the line, the status, the id."""

    line: int
    status: str
    id: str


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def public_files(name: str) -> Iterator[PublicFile]:
    """The files of one set."""
    labels = rows(FOLDER / name / "labels.csv")
    for part in (FOLDER / name / "files.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = part.partition("\n")
        text, *beside = rest.split("--- ")
        lists = {one.partition("\n")[0]: one.partition("\n")[2] for one in beside}
        own = tuple(row for row in labels if row["name"] == title)
        yield PublicFile(title, text, lists, own)


def judged(file: PublicFile, matrix: Matrix) -> tuple[tuple[Finding, ...], tuple[Told, ...]]:
    """The findings on a file, and those of them that tell a fault; `unreadable` for what Docker does not read."""
    try:
        findings = check_dockerfile(file.text, Request(container=True), matrix, file.beside.get)
    except SourceError as error:
        found = re.search(r"line (\d+)", str(error))
        return (), (Told(int(found[1]) if found else 0, Status.FAIL, "unreadable"),)
    told = [one for one in findings if one.status in (Status.FAIL, Status.WARN)]
    return findings, tuple(Told(line_of(one), one.status, one.id) for one in told)


def meets(label: Mapping[str, str], told: Told) -> bool:
    """True where a label says what is reported; `open` labels let anything be said of their line."""
    if str(told.line) not in label["line"].split("|"):
        return False
    return label["status"] == "open" or (label["status"] == told.status and told.id in label["ids"].split("|"))


def wrong(file: PublicFile, told: Sequence[Told]) -> list[Told]:
    """What is told and has no label."""
    return [one for one in told if not any(meets(label, one) for label in file.labels)]


def missed(file: PublicFile, told: Sequence[Told]) -> list[Mapping[str, str]]:
    """The labeled faults that are not told."""
    asked = [label for label in file.labels if label["status"] in _ASKED]
    return [label for label in asked if not any(meets(label, one) for one in told)]


def score(files: Sequence[PublicFile], matrix: Matrix) -> str:
    """One line: how much of what is reported is right, how much of the faults is reported, how many files are judged
    inside."""
    count: Counter[str] = Counter(files=len(files))
    for file in files:
        findings, told = judged(file, matrix)
        false, left = wrong(file, told), missed(file, told)
        for status in _ASKED:
            count[f"{status} told"] += sum(one.status == status for one in told)
            count[f"{status} false"] += sum(one.status == status for one in false)
            count[f"{status} asked"] += sum(label["status"] == status for label in file.labels)
            count[f"{status} missed"] += sum(label["status"] == status for label in left)
        said = [one for one in findings if one.status not in (Status.UNKNOWN, Status.SKIP)]
        count["inside"] += any(not one.id.startswith(_OF_THE_BASE) for one in said)
    right = [f"{count[f'{status} told'] - count[f'{status} false']} of {count[f'{status} told']}" for status in _ASKED]
    seen = [
        f"{count[f'{status} asked'] - count[f'{status} missed']} of {count[f'{status} asked']}" for status in _ASKED
    ]
    return " | ".join((*right, *seen, f"{count['inside']} of {count['files']}"))


def main(names: Sequence[str]) -> None:
    """Print the score of each set, or what is said of the named files."""
    matrix = Matrix.load()
    for name in SETS:
        files = list(public_files(name))
        if not names:
            print(f"{name}: {score(files, matrix)}")
        for file in files:
            if file.name in names:
                findings, told = judged(file, matrix)
                print(report_text(findings, file.name), *wrong(file, told), *missed(file, told), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
