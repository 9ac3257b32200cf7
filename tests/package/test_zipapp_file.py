"""The built zipped application: what it carries, on which Pythons it runs, and what a start costs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.cli.run import ROOT
from tests.package.pythons import kept_pythons
from tools.package.zipapp.__main__ import build
from tools.package.zipapp.lock import LOCK
from tools.package.zipapp.stage import licenses

pytestmark = pytest.mark.network
MOST = 1.3  # times the processor time of the installed program
FACTS = ROOT / "tests" / "machines" / "ubuntu22.04-8xh100-550"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application, built with this Python's byte code."""
    target = tmp_path_factory.mktemp("made") / "envkit.pyz"
    assert sys.implementation.cache_tag in build(target)
    return target


def test_it_carries_nothing_of_its_builder(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        contents = b"".join(archive.read(name) for name in names)
    assert not [name for name in names if name.endswith(("RECORD", "direct_url.json", "INSTALLER", ".so"))]
    for place in (ROOT, Path(sys.prefix), made.parent):
        assert f"{place}/".encode() not in contents


def test_it_carries_the_packages_of_the_lock_with_their_licenses(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path)
    carried = sorted(tmp_path.glob("*.dist-info"))
    assert len(carried) == len(LOCK.read_text("utf-8").splitlines())  # envkit stands for the line of the head
    assert [path.name for path in carried if not licenses(path)] == []


def test_it_runs_on_every_supported_python(made: Path) -> None:
    pythons = [("", Path(sys.executable)), *kept_pythons("3.10", "3.11", "3.12", "3.13", "3.14")]
    for _, python in pythons:
        command = [str(python), "-sS", str(made), "doctor", "--from", str(FACTS)]
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["verdict"]["status"] == "ok"
        page = [*command, "--format", "html"]
        assert subprocess.run(page, capture_output=True, text=True, check=False).stdout.startswith("<!doctype html>")


def processor_time(*command: str | Path) -> float:
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@pytest.mark.parametrize("words", [("doctor",), ("doctor", "--from", FACTS)], ids=("machine", "capture"))
def test_doctor_costs_little_more_than_the_installed_one(
    words: tuple[str | Path, ...], made: Path, installed: Path
) -> None:
    bare = installed.with_name("python")
    pairs = [
        (processor_time(bare, made, *words), processor_time(installed, *words))
        for _ in range(10)  # the first of the installed one writes its byte code
    ]
    zipped, usual = (statistics.median(times) for times in zip(*pairs[1:], strict=True))
    assert zipped <= MOST * usual, (zipped, usual)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as `pip install` puts it into an environment of its own."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", ROOT], check=True)
    return folder / "bin" / "envkit"
