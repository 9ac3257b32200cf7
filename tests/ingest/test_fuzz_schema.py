"""Whatever is pasted, the JSON report is valid against the published schema."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.doctor import doctor_json
from envkit.ingest import parse_text
from envkit.tables import Matrix
from tests.ingest.test_fuzz import HARMLESS, noise, sprinkled
from tests.ingest.texts import cases

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schema" / "doctor.schema.json"


@pytest.mark.parametrize("count", [4, pytest.param(120, marks=pytest.mark.thorough)])
def test_reports_of_mutated_texts_and_noise_are_valid(count: int) -> None:
    source = random.Random(11)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    every, checks, matrix = cases(), tuple(all_checks().values()), Matrix.load()
    for _ in range(count):
        text = source.choice(every).text
        for mutate in source.choices((*HARMLESS, sprinkled), k=2):
            text = mutate(text, source) or "x"
        environment = parse_text(text if source.random() < 0.9 else noise(source))
        report = json.loads(doctor_json(environment, run_checks(environment, matrix, checks)))
        validator.validate(report)
