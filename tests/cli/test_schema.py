"""What `--json` prints is valid against the published schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.run import ROOT, envkit


def _schema(name: str) -> Any:  # noqa: ANN401 - a schema is any JSON
    return json.loads((ROOT / "docs" / "schema" / f"{name}.schema.json").read_text())


def valid(document: object, name: str) -> None:
    jsonschema.Draft202012Validator(_schema(name)).validate(document)


def test_report_of_this_machine() -> None:
    done = envkit("doctor", "--json")
    assert done.returncode in (0, 1)
    valid(json.loads(done.stdout), "doctor")


NAMED_OTHERWISE = {"bug-report": "arch-newer-than-build"}


@pytest.mark.parametrize("example", sorted((ROOT / "docs" / "examples").glob("*.txt")), ids=lambda path: path.stem)
def test_report_of_a_text_names_its_trouble(example: Path) -> None:
    done = envkit("doctor", "--from", str(example), "--json")
    document = json.loads(done.stdout)
    valid(document, "doctor")
    assert document["findings"][0]["status"] == "fail"
    assert document["findings"][0]["id"] == NAMED_OTHERWISE.get(example.stem, example.stem)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["resolve", "--framework", "pytorch"], "ok"),
        (["resolve", "--framework", "tensorflow", "--framework", "pytorch"], "ok"),
        (["resolve", "--cuda", "12.4", "--os", "ubuntu22.04"], "ok"),
        (["resolve", "--cuda", "9.0", "--gpu", "9.0"], "none"),
        (["install", "--cuda", "9.0", "--framework", "pytorch", "--os", "ubuntu16.04"], "ok"),
        (["dockerfile", "--framework", "mxnet"], "ok"),
    ],
)
def test_plans(words: list[str], status: str) -> None:
    done = envkit(*words, "--target", "any", "--json")
    document = json.loads(done.stdout)
    valid(document, "plan")
    assert document["status"] == status
    assert done.returncode == (0 if status == "ok" else 1)


def test_the_schemas_refuse_what_is_wrong() -> None:
    with pytest.raises(jsonschema.ValidationError):
        valid({"schema": 2, "environment": {}, "findings": [], "summary": {}}, "doctor")
    with pytest.raises(jsonschema.ValidationError):
        valid({"schema": 1, "status": "ok", "alternatives": [], "warnings": []}, "plan")
