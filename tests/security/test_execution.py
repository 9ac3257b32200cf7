"""Nothing of the examined environment runs: doctor in hostile repositories, told by marks and by the kernel's calls."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import require
from tests.security.hostile import Hostile, hostile, marking_library

SEED = 20261122
FEW, MANY = 2, 50
STARTED = re.compile(r'execve\("([^"]*)".* = 0$')
OURS = ("/usr/", "/bin/", "/sbin/", sys.executable, os.path.realpath(sys.executable), sys.prefix, sys.base_prefix)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    return marking_library(folder, folder)


def _doctor(place: Hostile, *words: str, prefix: tuple[str, ...] = ()) -> None:
    """`python -m envkit doctor` as a user types it in that folder."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "envkit", "doctor", *words],
        cwd=place.folder,
        env=place.variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr


def _marks(place: Hostile, library: Path) -> list[str]:
    return sorted(path.name for path in [*place.marks.iterdir(), *library.parent.glob("library")])


@pytest.mark.parametrize("index", range(FEW))
def test_a_hostile_repository_runs_nothing(index: int, tmp_path: Path, library: Path) -> None:
    place = hostile(tmp_path, random.Random(SEED + index), library)
    _doctor(place)
    assert _marks(place, library) == []


@pytest.mark.thorough
@pytest.mark.parametrize("index", range(MANY))
def test_no_hostile_repository_or_tree_runs_anything(index: int, tmp_path: Path, library: Path) -> None:
    """Each fifth is examined as a mounted tree, where nothing is started but envkit's own probe and its guardian."""
    require("strace")
    place = hostile(tmp_path, random.Random(index), library)
    calls = tmp_path / "calls"
    tracer = ("strace", "-f", "-qq", "-e", "trace=execve", "-e", "signal=none", "-o", str(calls))
    tree = index % 5 == 4
    _doctor(place, *(("--root", str(place.folder)) if tree else ()), prefix=tracer)
    assert _marks(place, library) == []
    started = [match.group(1) for line in calls.read_text().splitlines() if (match := STARTED.search(line))]
    assert started
    assert [path for path in started if not path.startswith(OURS)] == []
    assert not tree or {os.path.basename(path) for path in started} <= {os.path.basename(sys.executable), "sh", "grep"}


def test_the_traps_work(tmp_path: Path, library: Path) -> None:
    """A shell and an interpreter that trust the folder do spring them: the tests above can fail."""
    place = hostile(tmp_path, random.Random(SEED), library)
    (place.folder / "loading.py").write_text("import ctypes, json; ctypes.CDLL('libcuda.so.1')\n")
    subprocess.run(["/bin/sh", "-c", "nvcc; ptxas"], cwd=place.folder, env={"PATH": ":/bin"}, check=True)
    variables = {"PATH": "/bin", "LD_LIBRARY_PATH": ":"}
    subprocess.run([sys.executable, "-m", "loading"], cwd=place.folder, env=variables, check=True)
    assert _marks(place, library) == ["json", "library", "nvcc", "ptxas"]
    (library.parent / "library").unlink()
