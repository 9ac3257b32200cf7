"""A hundred things that nobody else should read: no output of any command holds a secret, nor a masked one a name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from envkit.api.report import judged
from envkit.capture.record import record
from envkit.checks.engine.registry import all_checks
from envkit.cli.report import rendered
from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.model.facts_json import to_json
from envkit.privacy.masker import mask_environment
from envkit.probe.collect import collect
from envkit.render.facts_text import facts_text
from envkit.render.reports import formats
from envkit.tables import Matrix
from tests.redact.canaries import ALL, IDENTIFIERS, IN_TEXT, PROMPT, SECRETS, lines, machine

FORMATS = formats()


@cache
def _environment() -> Environment:
    return collect(machine(), 60.0)


def _outputs(mask: bool) -> dict[str, str]:
    """What every command prints of the machine."""
    environment = _environment()
    report = judged(environment, list(all_checks().values()), Matrix.load(), mask=mask, chosen=False)
    outputs = {form: rendered([report], form, verbose=True, to_file=True) for form in FORMATS}
    shown = mask_environment(environment) if mask else environment
    return outputs | {"probe": facts_text(shown), "probe --json": json.dumps(to_json(shown), ensure_ascii=False)}


def _found(words: tuple[str, ...], text: str) -> list[str]:
    return [word for word in words if word.lower() in text.lower()]


def test_there_are_a_hundred_of_them() -> None:
    assert len(set(ALL)) == len(set(IN_TEXT)) == 100


def test_the_machine_is_seen_with_all_its_parts() -> None:
    """A canary in a file that nobody reads would prove nothing."""
    environment = _environment()
    assert environment.gpus.known
    assert environment.kernel.log.get()[9:]
    assert environment.pythons.get()[0].distributions
    facts = (environment.packages, environment.repositories, environment.package_changes, environment.nvcc)
    assert all(fact.known for fact in facts)
    shown = json.dumps(to_json(environment))
    assert len(_found(IDENTIFIERS, shown)) >= 25, "the plain facts name what they are about"


@pytest.mark.parametrize("mask", [False, True], ids=["plain", "masked"])
def test_no_output_holds_a_secret(mask: bool) -> None:
    assert {name: _found(SECRETS, text) for name, text in _outputs(mask).items() if _found(SECRETS, text)} == {}


def test_no_masked_output_holds_an_identifier() -> None:
    outputs = _outputs(mask=True)
    assert {name: _found(IDENTIFIERS, text) for name, text in outputs.items() if _found(IDENTIFIERS, text)} == {}


def test_a_capture_holds_none_of_them_and_is_its_owners(tmp_path: Path) -> None:
    recording = record(machine(), str(tmp_path / "capture"))
    files = [path for path in (tmp_path / "capture").rglob("*") if path.is_file()]
    text = "".join(f"{path.relative_to(tmp_path)}\n{path.read_bytes().decode('latin-1')}" for path in files)
    assert _found(ALL, text) == []
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    folders = [tmp_path / "capture", *(path for path in (tmp_path / "capture").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    assert set(recording.sizes) == {str(path.relative_to(tmp_path / "capture")) for path in files}


def test_the_diagnosis_is_the_same_with_masks_and_from_the_capture(tmp_path: Path) -> None:
    from envkit.capture.machine import replay

    recording = record(machine(), str(tmp_path / "capture"))
    checks, matrix = list(all_checks().values()), Matrix.load()
    reports = [
        judged(environment, checks, matrix, mask=mask, chosen=False)
        for environment, mask in ((_environment(), False), (_environment(), True), (replay(recording.path), False))
    ]
    plain, *others = [[(found.id, found.status, found.because_of) for found in report.findings] for report in reports]
    assert others == [plain, plain]


@pytest.mark.thorough
def test_pasted_text_with_one_of_them_in_each_line() -> None:
    """Each in a text of its own, as a report quotes a message once."""
    kept: dict[str, str] = {}
    for canary, line in zip(IN_TEXT, lines(), strict=True):
        environment = parse_text(f"{PROMPT}{line}\n")
        assert environment.messages.get(), line
        plain = json.dumps(to_json(environment), ensure_ascii=False)
        assert not _found(SECRETS, plain), line
        shown = json.dumps(to_json(mask_environment(environment)), ensure_ascii=False)
        if _found((canary,), shown):
            kept[canary] = shown[-300:]
    assert kept == {}
