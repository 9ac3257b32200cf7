"""Reports on files for other programs: valid, with the lines that editors and trackers can open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from envkit.cli.main import envkit
from envkit.documents.places import Place, place_in_file
from tests.render.test_for_machines import SARIF

GONE = "FROM nvidia/cuda:10.1-devel-ubuntu18.04\nRUN true\n"
WARNS = "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\n"


def run(*words: object) -> Result:
    return CliRunner().invoke(envkit, [*map(str, words)], standalone_mode=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose list includes another one, with a clash in line 2 of that, and a Dockerfile on a deleted base."""
    (tmp_path / "requirements.txt").write_text("-r more.txt\nnumpy<2\n")
    (tmp_path / "more.txt").write_text("# pinned\ntorch==2.6.0\ntorchvision==0.15.2\n")
    (tmp_path / "Dockerfile").write_text(GONE)
    return tmp_path


def sarif(*words: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*words, "--format", "sarif").stdout)
    jsonschema.Draft4Validator(SARIF).validate(document)
    return document


def places(run: dict[str, Any]) -> set[tuple[str, int]]:
    found = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    return {(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in found}


def test_sarif_names_the_line_also_of_an_included_file(project: Path) -> None:
    document = sarif("check", project / "requirements.txt", project / "Dockerfile", "--gpu", "RTX 5090")
    first, second = document["runs"]
    included = {line for file, line in places(first) if file == str(project / "more.txt")}
    assert included <= {2, 3} and included, places(first)
    assert (str(project / "Dockerfile"), 1) in places(second)
    assert document == sarif("check", project / "requirements.txt", project / "Dockerfile", "--gpu", "RTX 5090")


def test_annotations_point_to_the_line(project: Path) -> None:
    for words in (("check", project / "Dockerfile"), ("dockerfile", "--check", project / "Dockerfile")):
        done = run(*words, "--format", "github")
        assert done.stdout.startswith(f"::error file={project / 'Dockerfile'},line=1,title=nvidia/cuda%3A10.1"), done
        assert done.return_value == 1


@pytest.mark.parametrize(("fail_on", "code"), [("fail", 0), ("warn", 1), ("unknown", 1)])
def test_fail_on_is_the_lowest_severity_that_fails(fail_on: str, code: int, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(WARNS)
    for words in (("check", file), ("dockerfile", "--check", file)):
        assert run(*words, "--fail-on", fail_on).return_value == code


def test_the_name_of_the_output_file_chooses_the_format(project: Path) -> None:
    run("check", project / "Dockerfile", "-o", project / "found.sarif")
    assert json.loads((project / "found.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dockerfile", "--format", "sarif"), "--format sarif is for reports on a Dockerfile."),
        (("dockerfile", "--check", "Dockerfile", "--format", "compose"), "--check writes no compose."),
        (("check", "requirements.txt", "--fix", "--format", "sarif"), "--fix prints a change, not a report."),
        (("check", "requirements.txt", "--json", "--format", "sarif"), "cannot be used together"),
    ],
)
def test_formats_that_do_not_go_together_are_refused(words: tuple[str, ...], said: str) -> None:
    assert said in str(run(*words).exception)


@pytest.mark.parametrize(
    ("subject", "place"),
    [
        ("line 3: torch", Place("sub/list.txt", 3)),
        ("base.txt line 7: torch==2.6.0", Place("sub/base.txt", 7)),
        ("in a dir/base.txt line 7: torch", Place("sub/in a dir/base.txt", 7)),
        ("torch", None),
        ("", None),
    ],
)
def test_the_place_of_a_subject(subject: str, place: Place | None) -> None:
    assert place_in_file("sub/list.txt", subject) == place
