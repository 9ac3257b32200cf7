"""The tests that a broken run left are run, those that passed are not, and those that failed are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate import BEFORE, NOTED

_CONFTEST = """
import os
from tests.gate.resuming import leave_out_what_passed as pytest_collection_modifyitems
from tests.gate.resuming import register as pytest_configure

def pytest_runtest_logstart(nodeid):
    if "BREAK" in os.environ and "[7]" in nodeid and "PYTEST_XDIST_WORKER" in os.environ:
        raise OSError(28, "no space left")
"""
_TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(20))
def test_one(number):
    if number == 4:
        pytest.skip("needs a program")
    assert number != 3 and not [name for name in os.environ if name.startswith("ENVKIT_TESTS_")]
"""


def _run(folder: Path, **variables: str) -> tuple[str, dict[str, int]]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", str(folder)],
        env={**own, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
        capture_output=True,
        text=True,
    )
    ends = re.findall(r"(\d+) (passed|failed)", done.stdout.splitlines()[-1])
    return done.stdout, {word: int(number) for number, word in ends}


@pytest.mark.thorough
def test_a_run_that_broke_off_goes_on(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_it.py").write_text(_TESTS)
    notes = tmp_path / "passed"
    said, ended = _run(tmp_path, **{NOTED: str(notes)}, BREAK="1")
    assert "INTERNALERROR> E" in said and ended.get("passed", 0) < 18
    passed = notes.read_text().splitlines()
    assert len(passed) == len(set(passed)) == ended.get("passed", 0) and not any(
        "[3]" in each or "[4]" in each for each in passed
    )
    said, ended = _run(tmp_path, **{BEFORE: str(notes)})
    assert "INTERNALERROR" not in said and ended == {"failed": 1, "passed": 18 - len(passed)}
