"""What every check has in common: words, sources, order, and silence about what nobody looked at."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import Check, all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import Environment
from envkit.model.paths import fact
from tests.checks.software import matrix
from tests.fakes.machines import load_machine, machine_names

CHECKS = list(all_checks().values())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_explains_itself(check: Check) -> None:
    first, _, rest = check.doc.partition("\n")
    assert first.endswith("."), "the docstring's first line says what is true of a healthy machine"
    assert check.title and not check.title.endswith(".")
    assert check.fix.endswith(".")
    assert check.references
    assert all(reference.startswith("https://") for reference in check.references)
    assert check.tier in "FNXLCR"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_check_names_facts_and_checks_that_exist(check: Check) -> None:
    for path in (*check.needs, *check.any_of):
        fact(Environment(), path)
    assert set(check.explained_by) <= set(all_checks())
    assert check.id not in check.explained_by


def test_nothing_looked_at_gives_neither_ok_nor_fault() -> None:
    findings = run_checks(Environment(), matrix(), CHECKS)
    assert {finding.status for finding in findings} <= {Status.UNKNOWN, Status.SKIP}
    assert len(findings) == len(CHECKS)


def test_no_two_checks_explain_each_other() -> None:
    causes = {check.id: set(check.explained_by) for check in CHECKS}
    circles = [id for id in causes if id in _behind(id, causes)]
    assert circles == []


def _behind(id: str, causes: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(causes[id])
    while waiting:
        cause = waiting.pop()
        if cause not in seen:
            seen.add(cause)
            waiting.extend(causes[cause])
    return seen


@pytest.mark.parametrize("name", machine_names())
def test_every_fault_has_evidence_a_meaning_and_a_fix(name: str) -> None:
    for finding in run_checks(load_machine(name), matrix(), CHECKS):
        if finding.status in (Status.FAIL, Status.WARN):
            assert finding.evidence, finding.id
            assert finding.impact, finding.id
            assert len(finding.title) < 160, finding.title
            if finding.because_of is not None:
                assert finding.remedy is None, finding.id  # it goes away with its cause
                continue
            assert finding.remedy is not None and finding.remedy.summary.endswith("."), finding.id
            assert all(len(line) < 400 for line in finding.remedy.commands)
