"""Every recorded machine through the program: `doctor --from DIR` gives the machine's own first finding."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from envkit.cli.main import envkit
from tests.fakes.machines import MACHINES, machine_names


def report(source: Path) -> tuple[int, dict[str, list[dict[str, object]]]]:
    done = CliRunner().invoke(envkit, ["doctor", "--from", str(source), "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, json.loads(done.stdout)


@pytest.mark.parametrize("name", machine_names())
def test_the_program_finds_what_is_wrong_with_a_recorded_machine(name: str) -> None:
    expected = json.loads((MACHINES / name / "machine.json").read_text("utf-8"))["expect"]["first"]
    code, document = report(MACHINES / name)
    failed = [finding["id"] for finding in document["findings"] if finding["status"] == "fail"]
    assert (failed[0] if failed else None) == expected
    assert [finding for finding in document["findings"] if finding["status"] == "error"] == []
    assert code == (1 if expected else 0)


FACTS_ALONE = [path.parent for path in MACHINES.glob("*/facts.json") if not (path.parent / "paths.json").exists()]


@pytest.mark.parametrize("folder", sorted(FACTS_ALONE)[::8], ids=lambda path: path.name)
def test_facts_say_the_same_as_a_file_and_in_a_folder_with_nothing_else(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "facts.json", tmp_path / "facts.json")
    (_, file), (_, alone), (_, described) = (report(path) for path in (folder / "facts.json", tmp_path, folder))
    assert file["findings"] == alone["findings"] == described["findings"]


def test_a_folder_that_holds_no_machine_says_what_one_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(envkit, ["doctor", "--from", str(tmp_path)], standalone_mode=False)
    assert "is not a capture" in str(done.exception) and "envkit capture" in str(done.exception)


def test_facts_of_a_machine_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    facts = json.loads((FACTS_ALONE[0] / "facts.json").read_text("utf-8"))
    (tmp_path / "saved.json").write_text(json.dumps({**facts, "origin": "this machine"}))
    _, document = report(tmp_path / "saved.json")
    assert document["environment"]["origin"] == str(tmp_path / "saved.json")  # type: ignore[call-overload]
