"""The doctor's report as one JSON object, schema 1."""

from __future__ import annotations

import json
from collections.abc import Sequence

from envkit.checks.findings import Finding
from envkit.checks.runner import summary
from envkit.facts import Environment
from envkit.facts_json import to_json
from envkit.render.citations import references_of, seen_in

SCHEMA = 1


def doctor_document(environment: Environment, findings: Sequence[Finding]) -> dict[str, object]:
    """The report as plain data: keys schema, environment, findings, summary."""
    return {
        "schema": SCHEMA,
        "environment": to_json(environment),
        "findings": [finding_document(finding) for finding in findings],
        "summary": summary(findings),
    }


def finding_document(finding: Finding) -> dict[str, object]:
    """One finding as plain data; `because_of` only where there is one."""
    document: dict[str, object] = {
        "id": finding.id,
        "status": finding.status.value,
        "severity": finding.severity,
        "title": finding.title,
        "subject": finding.subject,
        "evidence": [{"fact": item.fact, "value": item.value, "source": seen_in(item)} for item in finding.evidence],
        "impact": finding.impact,
        "remedy": None,
        "references": references_of(finding),
    }
    if finding.remedy is not None:
        document["remedy"] = {"summary": finding.remedy.summary, "commands": list(finding.remedy.commands)}
    if finding.because_of is not None:
        document["because_of"] = finding.because_of
    return document


def doctor_json(environment: Environment, findings: Sequence[Finding]) -> str:
    """The report as text."""
    return json.dumps(doctor_document(environment, findings), indent=2, ensure_ascii=False)
