"""A finding on a Dockerfile names the line of the command that it means, and the time grows with the file alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request, TargetGpu
from envkit.tables import Matrix
from tests.processor_time import least_seconds

FOLDER = Path(__file__).with_name("dockerfiles")
ASKED = Request(gpus=(TargetGpu(ComputeCapability.parse("12.0")),), driver=Version.parse("450.51.06"), container=True)
# Where a finding points is where these words are; «…» marks the one word that is meant.
CASES = dict(
    block.split("\n", 1) for block in Path(__file__).with_name("meant_lines.txt").read_text().split("=== ")[1:]
)
CASES["windows"] = CASES["continued"].replace("\n", "\r\n")
CASES["other line ends"] = "FROM ubuntu:22.04\n# a\x0cb\x0bc\x85d\u2028e\nRUN apt-get install «cuda-toolkit-11-0»\n"


def faults(text: str, matrix: Matrix) -> list[Finding]:
    return [one for one in check_dockerfile(text, ASKED, matrix) if one.status is not Status.OK]


@pytest.mark.parametrize("name", CASES)
def test_the_line_is_that_of_the_word_meant(name: str, matrix: Matrix) -> None:
    text = CASES[name]
    line = text[: text.index("«")].count("\n") + 1
    found = faults(text.replace("«", "").replace("»", ""), matrix)
    named = {int(one.subject.removeprefix("line ").partition(":")[0]) for one in found}
    assert line in named and named <= {line, first(text)}, named


def first(text: str) -> int:
    """The line of FROM, which some findings mean."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith("FROM"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.Dockerfile")), ids=lambda path: path.stem)
def test_what_a_finding_names_is_on_its_line(path: Path, matrix: Matrix) -> None:
    """Or a variable does, whose value it is, or the list that it is in."""
    lines = path.read_text().split("\n")
    for finding in check_dockerfile(path.read_text(), ASKED, matrix):
        number, what = re.fullmatch(r"line (\d+): (.*)", finding.subject, re.DOTALL).groups()  # type: ignore[union-attr]
        line = lines[int(number) - 1]
        start = re.split(r"[=<>~!+\[ (]", what.removeprefix("CUDA ").removeprefix("docker.io/"))[0]
        assert start.rpartition("/")[2].partition(":")[0] in line or "$" in line, finding.subject


PACKAGES = 16_000
LONG = {
    "names": ("pip install", "a{}"),
    "one framework": ("pip install", "torch==2.{}"),
    "pinned": ("pip install", "a{}==1.0"),
    "excluded": ("pip install", "'torch!=2.{}'"),
    "extras": ("pip install", "torch[a{}]"),
    "markers": ("pip install", "\"a{}; python_version < '3'\""),
    "indexes": ("pip install", "a{} -i https://example.com/{}"),
    "lists": ("pip install", "-r {}.txt"),
    "folders": ("pip install", "./{}"),
    "conda": ("conda install", "a{}=1.0 -c {}"),
    "system": ("apt-get install", "a{}"),
    "assignments": ("export", "A{}=$B"),
}
FEW = ("names",)


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.thorough) for name in LONG if name not in FEW)]
)
def test_sixteen_thousand_packages_on_a_line_take_two_seconds(name: str, matrix: Matrix) -> None:
    command, word = LONG[name]
    words = " ".join(word.replace("{}", str(number)) for number in range(PACKAGES))
    text = f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nARG B=b\nRUN {command} {words}\n"
    faults("FROM python:3.12\nRUN pip install torch tensorflow jax\n", matrix)  # tables are read once
    assert least_seconds(lambda: faults(text, matrix), 2) < 2


@pytest.mark.thorough
def test_a_thousand_stages_upon_each_other_take_a_second(matrix: Matrix) -> None:
    stages = "".join(f"FROM s{number} AS s{number + 1}\nRUN echo {number} && ls\n" for number in range(1000))
    text = f"FROM ubuntu:24.04 AS s0\nRUN pip list\n{stages}RUN pip install six\n"
    named = ["image.driver-without-gpu", "image.pip-missing", "image.pip-missing", "image.python-managed"]
    assert [one.id for one in faults(text, matrix)] == named
    assert least_seconds(lambda: faults(text, matrix), 1) < 1
