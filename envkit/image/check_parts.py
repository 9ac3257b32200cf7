"""How the findings on a Dockerfile are put together: where they point, and what a verdict becomes."""

from __future__ import annotations

from envkit.checks.findings import Finding, Remedy, Status
from envkit.plan.model import DriverVerdict, Verdict

_STATUS = {
    "ok": Status.OK,
    "warn": Status.WARN,
    "fail": Status.FAIL,
    DriverVerdict.INCOMPATIBLE.value: Status.FAIL,
    DriverVerdict.UNKNOWN.value: Status.UNKNOWN,
}


def subject_of(line: int, what: str) -> str:
    """Where a finding points: the line, and what stands there."""
    return f"line {line}: {what}"


def from_verdict(id: str, verdict: Verdict, subject: str, impact: str, mend: str, command: str = "") -> Finding:  # noqa: A002
    """The finding that a verdict is, with its mend where something is wrong."""
    status = _STATUS.get(verdict.status, Status.OK)
    wrong = status in (Status.FAIL, Status.WARN)
    remedy = Remedy(mend, (command,) if command else ()) if wrong else None
    return Finding(
        id, status, verdict.detail, subject, impact=impact if wrong else "", remedy=remedy, sources=verdict.sources
    )
