"""What a recording keeps: every file that a probe asks for has a row, and a replay finds the same as the machine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from envkit.capture.machine import replay
from envkit.capture.record import record
from envkit.capture.recording import RecordingHost
from envkit.capture.replay import CaptureHost, holds_facts_alone
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.host.base import Host
from envkit.host.local import LocalHost
from envkit.model import Environment
from envkit.probe.collect import collect
from envkit.probe.kept import is_declared, kept_bytes, kept_text
from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.fakes.machines import MACHINES, machine_names
from tests.fakes.memory_host import MemoryHost
from tests.redact.canaries import machine

EVIDENCE = [name for name in machine_names() if not holds_facts_alone(str(MACHINES / name))]
SYNTHETIC = [name for name in EVIDENCE if "facts.json" not in {path.name for path in (MACHINES / name).iterdir()}]


def _asked(host: Host) -> set[str]:
    """The files that hold something and that a probe read."""
    recorder = RecordingHost(host, kept_bytes)
    collect(recorder, 60.0, skip=("pythons",))
    texts = {path for path, answer in recorder.texts.items() if answer.known}
    programs = {path for path in recorder.contents if "/bin/" in path}  # each of them is cut down by one row
    return texts | set(recorder.contents) - programs


def _undeclared(hosts: Iterable[Host]) -> set[str]:
    return {path for host in hosts for path in _asked(host) if not is_declared(path)}


def test_every_file_that_a_probe_reads_has_a_row() -> None:
    some = (CaptureHost(str(MACHINES / name)) for name in EVIDENCE[::12])
    assert _undeclared([LocalHost(), machine(), *some]) == set(), "add a row to envkit/probe/kept.py, or to FACTS_ALONE"


@pytest.mark.thorough
def test_every_file_that_a_probe_reads_on_any_recorded_machine_has_a_row() -> None:
    assert _undeclared(CaptureHost(str(MACHINES / name)) for name in EVIDENCE) == set()


def test_a_file_without_a_row_is_not_kept() -> None:
    assert kept_text("/etc/shadow", "root:x") is None
    assert kept_bytes("/etc/shadow", b"root:x") is None


def _diagnosis(environment: Environment) -> list[tuple[object, ...]]:
    checks = list(all_checks().values())
    return [(found.id, found.status, found.because_of) for found in run_checks(environment, Matrix.load(), checks)]


@pytest.mark.thorough
def test_the_recording_of_this_machine_gives_the_same_findings(tmp_path: Path) -> None:
    here = collect(LocalHost(), 60.0)
    recording = record(LocalHost(), str(tmp_path / "here"))
    assert _diagnosis(replay(recording.path)) == _diagnosis(here)
    assert json.loads((tmp_path / "here/stand_in.json").read_text()) == {"facts": []}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_recording_of_a_recorded_machine_gives_the_same_findings_from_its_evidence(
    name: str, tmp_path: Path
) -> None:
    recording = record(CaptureHost(str(MACHINES / name)), str(tmp_path / "again"))
    assert _diagnosis(replay(recording.path)) == _diagnosis(replay(str(MACHINES / name)))
    assert json.loads((tmp_path / "again/stand_in.json").read_text()) == {"facts": []}


def test_a_fact_whose_evidence_is_not_kept_stands_in(tmp_path: Path) -> None:
    stanza = "Package: acme-cuda-tools\nStatus: install ok installed\nVersion: 1.2\n"
    recording = record(MemoryHost({"/var/lib/dpkg/status": stanza}), str(tmp_path / "capture"))
    assert "packages" in json.loads((tmp_path / "capture/stand_in.json").read_text())["facts"]
    (package,) = replay(recording.path).packages.get()
    assert ("acme" not in package.name, package.version) == (True, "1.2")


@pytest.mark.thorough
def test_capture_says_what_it_kept_and_to_look_before_it_is_sent(tmp_path: Path) -> None:
    result = envkit("capture", str(tmp_path / "here"))
    assert result.returncode == 0
    assert result.stdout == f"{tmp_path}/here\n"
    for path in (tmp_path / "here").iterdir():
        assert path.name in result.stderr
    assert "/proc/cpuinfo" in result.stderr
    assert result.stderr.rstrip().endswith("review the capture before you send it.")
