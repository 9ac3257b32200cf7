"""A fix that ended in the middle can be undone, and nothing that somebody changed since is written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.checks.engine.command import run
from envkit.host.journal import Journal, state_folder
from envkit.repair.run import carry_out, take_back, undo_plan
from envkit.repair.steps import step_of


def _silent(line: str) -> None:
    """Nobody waits."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


def relink(state: Path, target: str, journal: Journal) -> None:
    carry_out(step_of(run("ln", "-sfn", target, str(state / "link"))), journal, _silent)


def undo(journal: Journal) -> list[str]:
    plan = undo_plan(journal, {})
    for item in plan:
        take_back(item, _silent)
    return [item.reason for item in plan]


@pytest.mark.parametrize("cut", ["", '{"event": "do'], ids=["killed", "killed-while-writing"])
def test_a_fix_that_was_killed_in_a_step_is_taken_back(state: Path, cut: str) -> None:
    (state / "link").symlink_to("/old")
    journal = Journal.new({"title": "a test"})
    relink(state, "/new", journal)
    lines = (journal.folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (journal.folder / "journal.jsonl").write_text("".join(lines[:-1]) + cut)  # without its `done`
    undo(Journal.last())
    assert os.readlink(state / "link") == "/old"


def test_several_steps_on_one_thing_go_back_to_the_first(state: Path) -> None:
    journal = Journal.new({"title": "a test"})
    for target in ("/one", "/two", "/three"):
        relink(state, target, journal)
    undo(journal)
    assert not os.path.lexists(state / "link")


def test_what_somebody_changed_since_is_left(state: Path) -> None:
    (state / "link").symlink_to("/old")
    journal = Journal.new({"title": "a test"})
    relink(state, "/new", journal)
    (state / "link").unlink()
    (state / "link").symlink_to("/somebody's")
    assert ["was changed since" in reason for reason in undo(journal)] == [True]
    assert os.readlink(state / "link") == "/somebody's"


def test_a_folder_is_nothing_that_a_step_replaces(state: Path) -> None:
    (state / "link").mkdir()
    with pytest.raises(EnvkitError, match="neither a file nor a link"):
        relink(state, "/new", Journal.new({}))
    with pytest.raises(EnvkitError, match="no fix to undo"):  # no step began
        Journal.last()


def test_the_newest_fix_that_remains_is_the_last(state: Path) -> None:
    first = Journal.new({"title": "first"})
    relink(state, "/one", first)
    os.rename(first.folder, first.folder.with_name("20200101T000000Z-1"))
    second = Journal.new({"title": "second"})
    relink(state, "/two", second)
    assert Journal.last().folder == second.folder
    second.write({"event": "undone"})
    assert Journal.last().entries()[0]["title"] == "first"
    assert state_folder().stat().st_mode & 0o077 == 0


def test_a_command_that_is_not_there_or_fails_is_one_line(state: Path) -> None:
    from envkit.host.repairs import Work
    from envkit.host.repairs import carry_out as run_work

    for work in (Work(("no-such-program",)), Work(("ln", "/"))):
        with pytest.raises(EnvkitError) as told:
            run_work(work)
        assert "\n" not in str(told.value)
