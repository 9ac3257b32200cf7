"""SARIF 2.1.0, for tools that collect the results of analyses: one run for each machine or file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from envkit.base.json_text import dumps
from envkit.base.shown import inert
from envkit.checks.engine.findings import Finding, Status
from envkit.documents.answered import Answered, answered
from envkit.documents.citations import references_of
from envkit.documents.doctor import tool_document
from envkit.documents.paragraphs import named, paragraphs
from envkit.documents.places import Place
from envkit.documents.verdict import asked
from envkit.render.reports import Diagnosed, Look

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Status.FAIL: "error", Status.WARN: "warning"}
_NOTICES = {Status.ERROR: "error", Status.UNKNOWN: "note"}  # of what could not be judged


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The log as text."""
    return log(answered(*inert(machine)) for machine in machines)


def log(judged: Iterable[Answered]) -> str:
    """The log of what was judged, which is inert already."""
    return dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(one) for one in judged]})


def _run(one: Answered) -> dict[str, Any]:
    tool = tool_document(one.findings)
    results = [finding for finding in one.findings if finding.status in _LEVELS]
    rules: dict[str, Finding] = {}
    for finding in results:
        rules.setdefault(finding.id, finding)  # the first finding of an id describes its rule
    places = {id: place for place, id in enumerate(rules)}
    driver = {
        "name": tool["name"],
        "version": tool["version"],
        "properties": {"data": tool["data"]},
        "rules": [_rule(finding) for finding in rules.values()],
    }
    judged = one.answer.status is not Status.UNKNOWN
    notices = [_notice(finding) for finding in one.findings if finding.status in _NOTICES]
    if not judged:
        message = "\n".join(dict.fromkeys((one.answer.headline, asked(one.answer))))
        notices.insert(0, {"level": "error", "message": {"text": message}, "descriptor": {"id": "verdict"}})
    invocation = {
        "executionSuccessful": judged and all(finding.status is not Status.ERROR for finding in one.findings),
        "toolExecutionNotifications": notices,
    }
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"envkit-{one.command}/{one.name}"},
        "invocations": [invocation],
        "results": [_result(finding, places[finding.id], one.place(finding)) for finding in results],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": finding.id, "shortDescription": {"text": finding.title}}
    if finding.impact:
        rule["fullDescription"] = {"text": finding.impact}
    if finding.remedy:
        rule["help"] = {"text": finding.remedy.summary}
    address = next((text for text in references_of(finding) if text.startswith("https://")), None)
    return rule if address is None else {**rule, "helpUri": _uri(address)}


def _result(finding: Finding, index: int, place: Place | None) -> dict[str, Any]:
    properties = {"confidence": finding.confidence.value}
    if finding.because_of:
        properties["because_of"] = finding.because_of
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.status],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, place)],
        "partialFingerprints": {"envkit/v1": _fingerprint((finding.id, finding.subject))},
        "properties": properties,
    }


def _message(finding: Finding) -> str:
    return "\n\n".join((named(finding), *paragraphs(finding)))


def _location(finding: Finding, place: Place | None) -> dict[str, Any]:
    """The fact that shows it, and the line of the file where one says it."""
    fact = finding.evidence[0].fact if finding.evidence else finding.id
    logical: dict[str, Any] = {"fullyQualifiedName": fact, "kind": "resource"}
    if finding.subject:
        logical["name"] = finding.subject
    if place is None:
        return {"logicalLocations": [logical]}
    physical = {"artifactLocation": {"uri": _uri(place.file)}, "region": {"startLine": place.line}}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _notice(finding: Finding) -> dict[str, Any]:
    return {
        "level": _NOTICES[finding.status],
        "message": {"text": named(finding)},
        "descriptor": {"id": finding.id},
    }


def _uri(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="/:?#[]@!$&'()*+,;=%~" if "://" in text else "/~")


def _fingerprint(parts: Iterable[str]) -> str:
    from hashlib import sha256

    return sha256("\0".join(parts).encode()).hexdigest()[:32]
