"""The one-file application on a bare Debian root that has python3 and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import ROOT
from tests.engine.engine import Engine
from tests.engine.fixtures import engine

__all__ = ["engine"]  # the fixture
pytestmark = pytest.mark.docker
BARE = "FROM debian:12\nRUN apt-get update && apt-get install -y --no-install-recommends python3-minimal python3\n"


@pytest.fixture(scope="module")
def zipapp() -> Path:
    """The built application."""
    subprocess.run([sys.executable, "-m", "tools.package.zipapp"], check=True, cwd=ROOT)
    return ROOT / "dist" / "envkit.pyz"


@pytest.fixture(scope="module")
def bare(engine: Engine) -> str:
    """An image of a bare Debian with python3."""
    engine.stand_in("debian:12")
    built = engine.build(BARE, "envkit-test/bare-python")
    assert built.exit_code == 0, built.log
    return "envkit-test/bare-python"


def _in_container(engine: Engine, image: str, zipapp: Path, *words: str) -> subprocess.CompletedProcess[str]:
    volume = f"{zipapp}:/envkit.pyz:ro"
    return engine.run(
        "run", "--rm", "--network=none", "-v", volume, image, "python3", "/envkit.pyz", *words, check=False
    )


def test_doctor_reports_there(engine: Engine, bare: str, zipapp: Path) -> None:
    done = _in_container(engine, bare, zipapp, "doctor", "--json")
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert document["environment"]["system"]["os"]["value"]["os_id"] == "debian12"
    assert document["environment"]["system"]["machine_kind"]["value"] == "container"
    assert document["summary"]["error"] == 0


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (["install", "--cuda", "9.0", "--framework", "pytorch", "--os", "ubuntu16.04", "--target", "any"], "#!"),
        (["dockerfile", "--framework", "tensorflow", "--target", "any"], "# syntax="),
        (["matrix", "toolkits"], ""),
        (["doctor", "--format", "html"], "<!doctype html>"),
    ],
)
def test_the_main_jobs_work_there(engine: Engine, bare: str, zipapp: Path, words: list[str], begins: str) -> None:
    done = _in_container(engine, bare, zipapp, *words)
    assert done.returncode in ((0, 1) if words[0] == "doctor" else (0,)), done.stderr
    assert done.stdout.startswith(begins) and done.stdout.strip()
