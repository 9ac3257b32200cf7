"""`--check` on recomposed public Dockerfiles, against what an expert said of them before the program had read them."""

from __future__ import annotations

import pytest

from envkit.render.check_report import report_text
from envkit.tables import Matrix
from tests.image.public_sets import FOLDER, SETS, PublicFile, judged, missed, public_files, rows, wrong

FILES = {file.name: file for name in SETS for file in public_files(name)}
# What is still said wrongly, and what is still not said.
DIFFERENCES = {(row["name"], row["how"], row["ids"]) for row in rows(FOLDER / "differences.csv")}


@pytest.mark.parametrize("name", SETS)
def test_every_file_has_a_label(name: str) -> None:
    assert {row["name"] for row in rows(FOLDER / name / "labels.csv")} == {file.name for file in public_files(name)}


def test_every_difference_is_of_a_file() -> None:
    assert {name for name, _, _ in DIFFERENCES} <= FILES.keys()


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_says_what_an_expert_says(file: PublicFile, matrix: Matrix) -> None:
    findings, told = judged(file, matrix)
    found = {(file.name, "wrong", one.id) for one in wrong(file, told)}
    found |= {(file.name, "missed", label["ids"]) for label in missed(file, told)}
    assert found == {row for row in DIFFERENCES if row[0] == file.name}, report_text(findings, file.name)
