"""The real Ansible on local connections: results come one by one, and a start that fails leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ansible import ansible
from tests.fleet.hosts import facts

__all__ = ["ansible"]

pytestmark = [pytest.mark.network, pytest.mark.thorough]
HOSTS, FORKS, TAKES_S = 8, 2, 2


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """Hosts that each take some seconds for their facts."""
    programs, shell, place = tmp_path / "programs", tmp_path / "shell", tmp_path / "hosts.ini"
    programs.mkdir()
    (tmp_path / "facts.json").write_text(facts())
    (programs / "python3").write_text(
        f"#!/bin/sh\necho >>{tmp_path}/asked\nsleep {TAKES_S}\ncat {tmp_path}/facts.json\n"
    )
    shell.write_text(f'#!/bin/sh\nPATH={programs}:$PATH\nexport PATH\nexec /bin/sh "$@"\n')
    for program in (programs / "python3", shell):
        program.chmod(0o755)
    place.write_text("[all]\n" + "".join(f"n{number} ansible_connection=local\n" for number in range(HOSTS)))
    with place.open("a") as stream:
        stream.write(f"[all:vars]\nansible_shell_executable={shell}\n")
    return place


def _start(inventory: Path, out: Path, ansible: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "envkit", "fleet", "doctor", "-i", str(inventory), "--out", str(out),
            "--forks", str(FORKS), *words,
        ],
        env={**os.environ, "PATH": f"{ansible}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def _first_results(out: Path, process: subprocess.Popen[str]) -> int:
    """How many hosts have a result when the first ones are there."""
    deadline = time.monotonic() + 60
    while not (found := list((out / "hosts").glob("n*.json"))):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    return len(found)


def test_a_kill_loses_no_host_that_answered(inventory: Path, ansible: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = _start(inventory, out, ansible)
    assert _first_results(out, process) <= FORKS  # while most have not even been asked
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = {path.name for path in (out / "hosts").glob("n*.json")}
    again = _start(inventory, out, ansible, "--resume", "--json")
    report, said = again.communicate(timeout=120)
    assert {item["state"] for item in json.loads(report)["hosts"]} == {"ok"}
    assert before and len(json.loads(report)["hosts"]) == HOSTS
    assert len((tmp_path / "asked").read_text().splitlines()) <= HOSTS + FORKS  # again only those cut off
    took = [float(line.split()[-2]) for line in said.splitlines() if " after " in line]
    assert max(took) < 2 * TAKES_S + 3  # a host's own seconds, not those of the hosts before it


def test_who_interrupts_gets_the_report_of_what_came(inventory: Path, ansible: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = _start(inventory, out, ansible, "--json")
    _first_results(out, process)
    process.send_signal(signal.SIGTERM)
    report, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and "--resume" in said
    states = [item["state"] for item in json.loads(report)["hosts"]]
    assert len(states) == HOSTS and "ok" in states and "unreadable" in states


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("[all]\nn1 ansible_connection=local\n", ["--limit", "other"], "no host of the inventory matches other"),
        ("[bad\nfoo=\n", [], "Ansible cannot use this inventory"),
        ("", [], "it lists no hosts"),
        ("[all]\n\udcff\udcfe\x01 x\n", [], "Ansible cannot use this inventory"),
    ],
    ids=["limit", "damaged", "empty", "binary"],
)
def test_a_start_that_fails_leaves_nothing(
    text: str, words: list[str], told: str, ansible: str, tmp_path: Path
) -> None:
    place, out = tmp_path / "hosts.ini", tmp_path / "run"
    place.write_text(text, errors="surrogateescape")
    process = _start(place, out, ansible, *words)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2 and told in said and len(said.splitlines()) == 1
    assert not out.exists()


def test_settings_of_ones_own_count_and_do_not_cost_the_results(inventory: Path, ansible: str, tmp_path: Path) -> None:
    shell, settings, mark = tmp_path / "other-shell", tmp_path / "my.cfg", tmp_path / "mark"
    shell.write_text(f'#!/bin/sh\necho > {mark}\nexec {tmp_path}/shell "$@"\n')
    shell.chmod(0o755)
    settings.write_text(f"[defaults]\nstdout_callback = minimal\nexecutable = {shell}\n")
    inventory.write_text("[all]\nn1 ansible_connection=local\n")
    process = _start(inventory, tmp_path / "run", ansible, "--ansible-config", str(settings), "--json")
    report, said = process.communicate(timeout=60)
    assert [item["state"] for item in json.loads(report)["hosts"]] == ["ok"], said
    assert mark.exists()
