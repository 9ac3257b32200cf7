"""A whole run over real ssh: every host ends in its state, and a killed run goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ansible import ansible
from tests.fleet.ssh_hosts import HOSTS, LIMIT_S, MUTE, RACK, REFUSED, STATES, SYSTEMS
from tests.fleet.ssh_servers import Fleet, containers, processes

__all__ = ["ansible"]

pytestmark = [pytest.mark.network, pytest.mark.thorough]
FORMS = [processes, pytest.param(containers, marks=pytest.mark.docker)]


@pytest.fixture(scope="module", params=FORMS, ids=["processes", "containers"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The hosts of the table with what does not answer."""
    with request.param(tmp_path_factory.mktemp("ssh")) as running:
        yield running


@pytest.fixture
def variables(ansible: str) -> dict[str, str]:
    """The environment of a run that finds Ansible."""
    return {**os.environ, "PATH": f"{ansible}:{os.environ['PATH']}"}


def _command(fleet: Fleet, out: Path, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "envkit", "fleet", "doctor", "-i", str(fleet.inventory), "--out", str(out),
        "--host-limit", str(LIMIT_S), "--json", "-o", f"{out}.json", *words,
    ]  # fmt: skip


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)


def _results(out: Path) -> dict[str, dict[str, Any]]:
    documents = [json.loads(path.read_text()) for path in (out / "hosts").glob("*.json")]
    return {item["host"]: item for item in documents}


def _ended(out: Path) -> dict[str, str]:
    return {
        name: item.get("state") or ("collected" if "environment" in item else "text")
        for name, item in _results(out).items()
    }


def test_every_host_ends_in_its_state(fleet: Fleet, variables: dict[str, str], tmp_path: Path) -> None:
    out, started = tmp_path / "run", time.monotonic()
    done = _run(_command(fleet, out), variables)
    print(f"{done.stderr}all {len(STATES)} hosts and the report after {time.monotonic() - started:.1f} s")
    assert done.returncode == 1, done.stderr
    assert _ended(out) == STATES, done.stderr
    report = json.loads(Path(f"{out}.json").read_text())
    assert {item["host"] for item in report["hosts"]} == set(STATES)
    assert list((out / "arrived").iterdir()) == []
    assert set(json.loads((out / "run.json").read_text())["asked"].values()) == set(STATES)
    took = {name: item["seconds"] for name, item in _results(out).items()}
    for name, host in HOSTS.items():
        assert host.seconds[0] <= took[name] <= host.seconds[1], (name, took)
    assert took[REFUSED] < took[MUTE] < LIMIT_S + 40
    assert {name: left for name in SYSTEMS if (left := fleet.left_on(name))} == {}
    traits = {item["host"]: item["traits"] for item in report["hosts"] if item["host"] in SYSTEMS}
    assert {name: told["group"] for name, told in traits.items()} == {
        name: "rack" if name in RACK else "none" for name in SYSTEMS
    }
    told = {name: found.get("os") for name, found in traits.items()}
    assert told == SYSTEMS if fleet.own_systems else len(set(told.values())) == 1


def test_a_killed_run_goes_on_where_it_was(fleet: Fleet, variables: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = subprocess.Popen(_command(fleet, out), env=variables, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list((out / "hosts").glob("*.json")) if (out / "hosts").is_dir() else []) < 3:
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.2)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = {path.name: path.stat().st_mtime_ns for path in (out / "hosts").glob("*.json")}
    had = _results(out).keys()
    assert had < STATES.keys()
    again = _run(_command(fleet, out), variables)
    assert again.returncode == 1 and "--resume" in again.stderr
    again = _run([*_command(fleet, out), "--resume"], variables)
    print(f"killed with {len(had)} results; then\n{again.stderr}")
    assert _ended(out) == STATES, again.stderr
    assert {name: (out / "hosts" / name).stat().st_mtime_ns for name in before} == before
    assert not any(line.startswith(f"{name}: ") for line in again.stderr.splitlines() for name in had)
