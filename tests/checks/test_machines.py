"""Every recorded machine through the real probes and checks: its failures, and the warnings that matter."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from tests.checks.software import matrix
from tests.fakes.machines import MACHINES, load_machine, machine_names

# Checks whose warnings are true of many machines and are not what a machine is recorded for, with the reason: one line
# here for a new one, and none in the machines.
TRUE_OF_MANY: dict[str, str] = {}


def judged(name: str) -> list[Finding]:
    return run_checks(load_machine(name), matrix(), all_checks().values())


def of(findings: list[Finding], status: Status) -> list[str]:
    return [finding.id for finding in findings if finding.status is status]


def about(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MACHINES / name / "machine.json").read_text("utf-8"))
    return found


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = about(name)["expect"]
    return found


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_has_its_faults(name: str) -> None:
    findings, wanted = judged(name), expected(name)
    failed = of(findings, Status.FAIL)
    assert (failed[0] if failed else None) == wanted["first"]
    assert sorted(set(failed)) == wanted["fail"]
    assert set(of(findings, Status.WARN)) >= set(wanted["warn"])
    assert of(findings, Status.ERROR) == []


HEALTHY = [name for name in machine_names() if not expected(name)["fail"] and not expected(name)["warn"]]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_gets_no_false_alarm(name: str) -> None:
    assert set(of(judged(name), Status.WARN)) - set(TRUE_OF_MANY) == set()


def test_what_machines_expect_are_checks() -> None:
    named = {id for name in machine_names() for key in ("fail", "warn") for id in expected(name)[key]}
    assert named | set(TRUE_OF_MANY) <= set(all_checks())


@pytest.mark.parametrize("name", machine_names())
def test_the_first_failure_has_no_cause_and_the_others_name_theirs(name: str) -> None:
    failed = [finding for finding in judged(name) if finding.status is Status.FAIL]
    assert all(finding.because_of is None for finding in failed[:1])
    causes = {finding.id for finding in failed}
    assert all(finding.because_of in causes for finding in failed if finding.because_of)


def test_a_consequence_comes_after_its_cause() -> None:
    order = [f.id for f in judged("ubuntu22.04-rtx3070laptop-prime-off") if f.status is Status.FAIL]
    assert order == ["optimus-gpu-off", "no-gpu-on-pci", "driver-module-not-loaded"]


def test_there_are_more_than_forty_machines() -> None:
    assert len(machine_names()) >= 40


def test_machines_of_public_outputs_name_their_threads() -> None:
    named = [sources for name in machine_names() if (sources := about(name).get("sources"))]
    assert len(named) >= 34
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source) for sources in named for source in sources)


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_says_whether_it_is_real(name: str) -> None:
    words = about(name)
    assert words["kind"] in ("real", "synthetic")
    assert words["recorded_at"][:2] == "20"
    assert words["description"]
