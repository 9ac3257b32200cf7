"""JSON has limits where it is read, and is valid and visible where it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envkit.base.errors import LimitError
from envkit.base.json_text import dumps, loads
from tests.cli.run import envkit
from tests.hostile.payloads import PAYLOADS
from tests.hostile.rules import valid_json

HUGE = [
    "1" + "0" * 400,
    "-1" + "0" * 400,
    "1e999",
    "-1e999",
    "[" * 200_000 + "]" * 200_000,
    '{"a":' * 500 + "1" + "}" * 500,
]
FACTS = '{{"schema": 1, "environment": {{"gpus": {{"value": [{{"index": 0, "name": "x", "memory_bytes": {}}}]}}}}}}'


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:12])
def test_numbers_and_nesting_have_limits(text: str) -> None:
    with pytest.raises(LimitError):
        loads(text)


@pytest.mark.thorough
@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:12])
def test_facts_beyond_the_limits_are_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(FACTS.format(text), "utf-8")
    for form in ("text", "json", "html", "markdown"):
        done = envkit("doctor", "--from", str(path), "--format", form)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert str(path) in done.stderr and len(done.stderr) < 400


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_numbers_are_none(word: str) -> None:
    with pytest.raises(ValueError, match="is not a JSON number"):
        loads(f'{{"a": {word}}}')


@pytest.mark.parametrize("number", ["1e999", "NaN", "1" + "0" * 400])
def test_a_number_beyond_the_limits_in_a_file_of_the_machine_costs_its_own_fact(number: str, tmp_path: Path) -> None:
    (tmp_path / "etc" / "docker").mkdir(parents=True)
    (tmp_path / "etc" / "docker" / "daemon.json").write_text(f'{{"a": {number}}}', "utf-8")
    (tmp_path / "etc" / "os-release").write_text('ID=ubuntu\nVERSION_ID="22.04"\n', "utf-8")
    facts = json.loads(envkit("probe", "--root", str(tmp_path), "--json").stdout)
    assert facts["containers"]["daemon_json"]["problem"] == "unparsable"
    assert facts["system"]["os"]["value"]["id"] == "ubuntu"


def test_what_fits_is_read_as_it_is() -> None:
    assert loads('{"a": [1, -2.5, "x", null, true, 18446744073709551615]}') == {
        "a": [1, -2.5, "x", None, True, 2**64 - 1]
    }
    assert loads("[" * 99 + "]" * 99)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_is_written_is_valid_and_visible(payload: str) -> None:
    text = dumps({payload: [payload]})
    valid_json(text, ())
    if payload == payload.encode(errors="replace").decode():
        assert json.loads(text) == {payload: [payload]}


def test_half_a_pair_becomes_its_name() -> None:
    assert json.loads(dumps("a\udc80b")) == "a\\udc80b"
