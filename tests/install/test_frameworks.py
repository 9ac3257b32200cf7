"""Real frameworks from the package index, installed by a generated script and imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.options import ScriptOptions
from envkit.solver.model import Plan
from tests.cli.run import envkit
from tests.engine.engine import Engine
from tests.install.machine import Machine, machine
from tests.install.plans import plan, scripted

pytestmark = [pytest.mark.docker, pytest.mark.network]

# Small CPU builds stand in for the plan's, so that a test need not fetch gigabytes.
SMALL = {
    "pytorch": ("torch==2.13.0+cpu", "2.13.0"),
    "tensorflow": ("tensorflow-cpu==2.15.1", "2.15.1"),
    "mxnet": ("mxnet==1.9.1", "1.9.1"),
}


def small_plan(framework: str, cpu_only: bool = True) -> Plan:
    """A plan for this system's own Python with a small build of the framework."""
    found = plan(framework=framework)
    package, version = SMALL[framework]
    build = replace(
        found.choice.builds[0],
        package=package,
        version=Version.parse(version),
        companions=(),
        numpy="<1.24" if framework == "mxnet" else None,
        index_url=None,
        find_links=None,
        cpu_only=cpu_only,
    )
    choice = replace(
        found.choice, builds=(build,), python=Version.parse("3.11"), python_source=None, needs_toolkit=False
    )
    return replace(found, choice=choice)


@contextmanager
def online(engine: Engine, image: str, folder: Path) -> Iterator[Machine]:
    """A machine that sees this host's extra wheel folders, read-only, when it has any."""
    local = [word for word in os.environ.get("PIP_FIND_LINKS", "").split() if Path(word).is_dir()]
    mounts = [part for path in local for part in ("--volume", f"{path}:{path}:ro")]
    settings = ["--env", f"PIP_FIND_LINKS={' '.join(local)}"] if local else []
    with machine(engine, image, folder, *mounts, *settings) as target:
        yield target


@pytest.mark.parametrize("framework", sorted(SMALL))
def test_a_framework_is_installed_imported_and_taken_back(
    engine: Engine, target_image: str, framework: str, tmp_path: Path
) -> None:
    with online(engine, target_image, tmp_path) as target:
        target.put(scripted(small_plan(framework), ScriptOptions(), Mirrors()))
        before = target.tree()
        done = target.install()
        assert done.exit_code == 0, done.stderr
        assert done.verdicts[framework] == "ok"
        assert target.install().states[f"framework-{framework}"] == "unchanged"
        assert target.install("--rollback").exit_code == 0
        assert target.tree() == before


def test_a_cpu_only_build_where_a_gpu_build_was_wanted_is_found(
    engine: Engine, target_image: str, tmp_path: Path
) -> None:
    with online(engine, target_image, tmp_path) as target:
        target.put(scripted(small_plan("mxnet", cpu_only=False), ScriptOptions(), Mirrors()))
        done = target.install()
        assert done.exit_code == 9
        assert done.verdicts["mxnet build"] == "fail"
        again = target.install("--verify-only")
        assert again.exit_code == 9 and again.verdicts["mxnet build"] == "fail"


@pytest.mark.parametrize(
    ("version", "python", "there"),
    [("1.13.1", "3.11", False), ("1.13.1", "3.10", True), ("2.5.1", "3.13", False), ("2.5.1", "3.12", True)],
)
def test_a_companion_without_a_wheel_for_the_python_is_left_out_and_reported(
    version: str, python: str, there: bool
) -> None:
    """pip: no matching distribution for torchvision 0.14.1 with Python 3.11, nor for 0.20.1 with 3.13."""
    words = ("--framework", f"pytorch=={version}", "--python", python, "--os", "debian12", "--target", "any")
    done = envkit("install", *words)
    assert done.returncode == 0, done.stderr
    assert ("torchvision==" in re.sub(r"^#.*", "", done.stdout, flags=re.M)) is there
    assert ("so they are omitted" in done.stderr) is not there
