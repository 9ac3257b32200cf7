"""`--check` on recomposed public Dockerfiles, against what an expert said of them before the program had read them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.dockerfile.check_parts import line_of
from envkit.render.check_report import report_text
from envkit.solver.request import Request
from envkit.tables import Matrix

FOLDER = Path(__file__).with_name("public")
# A tag without its distribution, a private registry or a moving tag does not tell the Python; the others are new kinds.
MISSED = {
    ("one-three-for-ten", "image.base-gone"),
    ("shared-notebooks", "image.apt-without-package"),
    ("theano-dgx", "image.installer-refuses"),
    ("chainer-beta", "image.installer-refuses"),
    ("detectron-2020", "image.installer-refuses"),
    ("borrowed-cudnn", "image.python-without-package"),
    ("sync-into-the-system", "image.tool-option"),
}
# Two speak of what pip would install, where there is no pip; one of a NumPy that torch alone does not bring.
WRONG = {
    ("browser-agent", "image.numpy-unbounded"),
    ("pip-forgotten-2019", "image.needs-newer-driver"),
    ("pip-forgotten-2025", "image.python-without-package"),
}


def _files() -> dict[str, tuple[str, Mapping[str, str]]]:
    """Each Dockerfile by name, with the list that lies beside it."""
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    for part in (FOLDER / "files.txt").read_text().split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        text, _, beside = rest.partition("--- ")
        title, _, lines = beside.partition("\n")
        found[name] = (text, {title: lines} if title else {})
    return found


FILES = _files()
with open(FOLDER / "labels.csv", encoding="utf-8", newline="") as stream:
    LABELS = tuple(csv.DictReader(stream))


def _meets(label: Mapping[str, str], finding: Finding) -> bool:
    if str(line_of(finding)) not in label["line"].split("|"):
        return False
    return label["status"] == "open" or (label["status"] == finding.status and finding.id in label["ids"].split("|"))


def test_every_file_has_a_label() -> None:
    assert {label["name"] for label in LABELS} == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_says_what_an_expert_says(name: str, matrix: Matrix) -> None:
    text, beside = FILES[name]
    labels = [label for label in LABELS if label["name"] == name]
    findings = check_dockerfile(text, Request(container=True), matrix, beside.get)
    told = [finding for finding in findings if finding.status in (Status.FAIL, Status.WARN)]
    wrong = {(name, one.id) for one in told if not any(_meets(label, one) for label in labels)}
    asked = [label for label in labels if label["status"] in ("fail", "warn")]
    missed = {(name, label["ids"]) for label in asked if not any(_meets(label, one) for one in told)}
    shown = report_text(findings, name)
    assert wrong == {pair for pair in WRONG if pair[0] == name}, shown
    assert missed == {pair for pair in MISSED if pair[0] == name}, shown
