"""Every recorded machine through the real probes and checks: the first failure, all failures and all warnings."""

from __future__ import annotations

import json

import pytest

from envkit.checks.findings import Finding, Status
from envkit.checks.registry import all_checks
from envkit.checks.runner import run_checks
from tests.checks.software import matrix
from tests.fakes.machines import MACHINES, load_machine, machine_names


def judged(name: str) -> list[Finding]:
    return run_checks(load_machine(name), matrix(), all_checks().values())


def of(findings: list[Finding], status: Status) -> list[str]:
    return [finding.id for finding in findings if finding.status is status]


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_has_exactly_its_faults(name: str) -> None:
    expected = json.loads((MACHINES / name / "machine.json").read_text("utf-8"))["expect"]
    findings = judged(name)
    failed = of(findings, Status.FAIL)
    assert (failed[0] if failed else None) == expected["first"]
    assert sorted(set(failed)) == expected["fail"]
    assert sorted(set(of(findings, Status.WARN))) == expected["warn"]
    assert of(findings, Status.ERROR) == []


@pytest.mark.parametrize("name", machine_names())
def test_the_first_failure_has_no_cause_and_the_others_name_theirs(name: str) -> None:
    failed = [finding for finding in judged(name) if finding.status is Status.FAIL]
    assert all(finding.because_of is None for finding in failed[:1])
    causes = {finding.id for finding in failed}
    assert all(finding.because_of in causes for finding in failed if finding.because_of)


def test_a_consequence_stands_after_its_cause() -> None:
    order = [f.id for f in judged("ubuntu22.04-rtx3070laptop-prime-off") if f.status is Status.FAIL]
    assert order == ["optimus-gpu-off", "no-gpu-on-pci", "driver-module-not-loaded"]


def test_there_are_more_than_forty_machines() -> None:
    assert len(machine_names()) >= 40


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_says_whether_it_is_real(name: str) -> None:
    about = json.loads((MACHINES / name / "machine.json").read_text("utf-8"))
    assert about["kind"] in ("real", "synthetic")
    assert about["recorded_at"][:2] == "20"
    assert about["description"]
