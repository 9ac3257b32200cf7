"""Files, links, services and the loader's index of a system that is a copy: broken, fixed, and undone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import ROOT

CASES = ("link", "cdi", "runtime", "loader", "service")
_APART = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]


def _namespaces() -> bool:
    try:
        return subprocess.run([*_APART, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.thorough
@pytest.mark.skipif(not _namespaces(), reason="no mount namespaces here")
@pytest.mark.parametrize("case", CASES)
def test_a_system_is_fixed_and_taken_back(case: str, tmp_path: Path) -> None:
    words = [*_APART, sys.executable, "-m", "tests.repair.inside", case, str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.endswith("restored\n"), done.stdout + done.stderr
