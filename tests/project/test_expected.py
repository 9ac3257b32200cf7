"""Each file of the collection is judged as an expert judged it beforehand."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import pytest

from envkit.api.project import project_report
from envkit.checks.engine.registry import image_faults
from envkit.solver.parse import parse_request
from envkit.solver.request import Request, RequestWords
from envkit.tables import Matrix

HERE = Path(__file__).parent
FIRST = {
    "gpu": "project.gpu-without-code",
    "driver": "project.driver-too-old",
    "python": "project.python-without-package",
    "requirement": "project.requirements-clash",
    "cpu": "project.cpu-build",
    "index": "project.not-on-index",
    "invalid": "project.invalid-requirement",
    "numpy": "project.numpy-not-for-framework",
    "marker": "project.marker-gap",
    "source": "project.source-without-effect",
}


def rows() -> list[dict[str, str]]:
    with (HERE / "expected.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def request_of(target: str, matrix: Matrix) -> Request:
    words = shlex.split(target)
    given = dict(zip(words[::2], words[1::2], strict=True))
    return parse_request(
        RequestWords(
            python=given.get("--python"),
            os_id=given.get("--os"),
            gpus=(given["--gpu"],) if "--gpu" in given else (),
            driver=given.get("--driver"),
        ),
        matrix,
        container=False,
    )


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['file']} {row['target'][:40]}")
def test_the_verdict_is_the_experts(row: dict[str, str]) -> None:
    matrix = Matrix.load()
    report = project_report(str(HERE / "files" / row["file"]), request_of(row["target"], matrix), matrix)
    right = report.verdict.status.value in row["status"].split("|")
    if right and row["kind"] and report.verdict.status.value in ("fail", "warn"):
        ends = tuple(FIRST[kind].partition(".")[2] for kind in row["kind"].split("|"))
        right = str(report.verdict.id).endswith(ends)
    assert right, report


@pytest.mark.thorough
def test_every_fault_is_seen_and_declared() -> None:
    matrix = Matrix.load()
    reports = [
        project_report(str(HERE / "files" / row["file"]), request_of(row["target"], matrix), matrix) for row in rows()
    ]
    seen = {finding.id for report in reports for finding in report.findings}
    declared = {id for id in image_faults() if id.startswith("project.")}
    assert {id for id in seen if id.startswith("project.")} == declared
