"""The doctor's report as one JSON object, schema 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit import __version__
from envkit.base.json_text import dumps
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import plugins_of, summary
from envkit.documents.citations import references_of, seen_in
from envkit.documents.verdict import Verdict, verdict
from envkit.model import Environment
from envkit.model.facts_json import to_json
from envkit.tables import Matrix

SCHEMA = 1
_WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.OK)


def doctor_document(environment: Environment, findings: Sequence[Finding]) -> dict[str, object]:
    """The report as plain data: keys schema, tool, verdict, environment, findings, summary."""
    return {
        "schema": SCHEMA,
        "tool": tool_document(findings),
        "verdict": verdict_document(verdict(environment, findings)),
        "environment": to_json(environment),
        "findings": [finding_document(finding) for finding in findings],
        "summary": summary(findings),
    }


def tool_document(findings: Iterable[Finding]) -> dict[str, object]:
    """Which envkit wrote a document, of which day its data is, and the plug-ins whose checks it ran."""
    parted = (plugin.rpartition(" ") for plugin in plugins_of(findings))
    plugins = [{"name": name, "version": version} for name, _, version in parted]
    return {"name": "envkit", "version": __version__, "data": Matrix.load().data_date, "plugins": plugins}


def verdict_document(answer: Verdict) -> dict[str, object]:
    """The verdict as plain data; `id` is null where no finding is the answer."""
    return {
        "status": answer.status.value,
        "id": answer.id,
        "title": answer.title,
        "confidence": answer.confidence.value,
        "ask": list(answer.ask),
        "alternatives": [
            {"id": other.id, "title": other.title, "tell_apart": other.tell_apart} for other in answer.alternatives
        ],
    }


def finding_document(finding: Finding) -> dict[str, object]:
    """One finding as plain data; `confidence` only of a trouble, `because_of` and `plugin` only where there is one."""
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
    if finding.status in (Status.FAIL, Status.WARN):
        document["confidence"] = finding.confidence.value
    if finding.because_of is not None:
        document["because_of"] = finding.because_of
    if finding.plugin:
        document["plugin"] = finding.plugin
    return document


def doctors_json(judged: Sequence[tuple[Environment, Sequence[Finding]]]) -> str:
    """The reports of several machines as text: each as it is alone, under `reports`, and the worst verdict of all."""
    worst = min((verdict(*pair) for pair in judged), key=lambda answer: _WORST_FIRST.index(answer.status))
    document = {
        "schema": SCHEMA,
        "tool": tool_document(finding for _, findings in judged for finding in findings),
        "verdict": verdict_document(worst),
        "reports": [doctor_document(*pair) for pair in judged],
    }
    return dumps(document)


def doctor_json(environment: Environment, findings: Sequence[Finding]) -> str:
    """The report as text."""
    return dumps(doctor_document(environment, findings))
