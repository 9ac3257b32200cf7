"""The table of reported faults: each trial has a line, each test that it names exists; one trial is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.engine import Engine
from tests.install.reported.__main__ import COLUMNS, trials
from tests.install.reported.bench import Bench, names_of_tests
from tests.install.reported.environments import wheels_once
from tests.install.server import Behavior

PAGE = Path(__file__).parents[2] / "docs/install-runs.md"


def rows() -> list[list[str]]:
    """The table's lines, without its head."""
    _, _, rest = PAGE.read_text().partition(f"| {' | '.join(COLUMNS)} |\n")
    lines = rest.partition("\n\n")[0].splitlines()
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def test_each_trial_has_its_line() -> None:
    found = rows()
    assert {len(row) for row in found} == {len(COLUMNS)}
    assert [row[0] for row in found] == [*trials()]


def test_each_test_that_a_line_names_exists() -> None:
    named = {name for row in rows() for name in re.findall(r"test_\w{1,200}", row[-1])}
    assert named and named <= names_of_tests()


@pytest.mark.docker
def test_a_wheel_that_was_fetched_is_not_fetched_again(
    engine: Engine, target_image: str, server: tuple[str, Behavior], tmp_path: Path
) -> None:
    assert wheels_once(Bench(engine, tmp_path, server)).codes == "130, 0"
