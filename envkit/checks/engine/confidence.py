"""How sure a finding is: facts of a machine are certain, a message is as sure as the number of its causes allows.

`message_causes.csv` says of a signature, or of a check for all its signatures, that it has one cause (`certain`), or
names the others. What it does not hold is likely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from envkit._startup.records import replace
from envkit.checks.engine.findings import Alternative, Confidence, Evidence, Finding, Status
from envkit.checks.engine.messages import all_messages, by_messages, is_detail, message_evidence
from envkit.model import Environment
from envkit.model.observed import is_told
from envkit.tables.findings import MessageCause
from envkit.tables.loader import read

_ORDER = (Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE)


@cache
def message_causes() -> Mapping[str, tuple[MessageCause, ...]]:
    """The rows of the table by their signature."""
    found: dict[str, tuple[MessageCause, ...]] = {}
    for row in read(MessageCause):
        found[row.signature] = (*found.get(row.signature, ()), row)
    return found


def is_certain(signature: str) -> bool:
    """Whether the message has one cause only."""
    rows = message_causes().get(signature) or message_causes().get(signature.partition("/")[0], ())
    return bool(rows) and "/told-" not in signature and Confidence(rows[0].confidence) is Confidence.CERTAIN


def weighed(environment: Environment, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, each with its confidence and the other causes that nothing here rules out."""
    findings = [_as_told(finding) for finding in findings]
    told = [finding for finding in findings if _rests_on_messages(finding)]
    if not told:
        return findings
    signatures = _signatures(environment)
    ruled_out = {finding.id for finding in findings if finding.status is Status.OK}
    return [
        _weighed(finding, signatures, ruled_out) if _rests_on_messages(finding) else finding for finding in findings
    ]


def _as_told(finding: Finding) -> Finding:
    """What somebody wrote in their own words proves nothing for certain."""
    if finding.status not in (Status.FAIL, Status.WARN) or not any(is_told(item.source) for item in finding.evidence):
        return finding
    return replace(finding, confidence=Confidence.LIKELY)


def _rests_on_messages(finding: Finding) -> bool:
    if finding.status not in (Status.FAIL, Status.WARN) or not finding.evidence:
        return False
    return by_messages(finding.evidence)


def _signatures(environment: Environment) -> dict[Evidence, list[str]]:
    """The signatures of each line that can be evidence."""
    found: dict[Evidence, list[str]] = {}
    for message in all_messages(environment):
        for evidence in message_evidence(environment, [message]):
            found.setdefault(evidence, []).append(message.signature)
    return found


def _weighed(finding: Finding, signatures: Mapping[Evidence, list[str]], ruled_out: set[str]) -> Finding:
    said = [signature for item in finding.evidence for signature in signatures.get(item, ())]
    own = [signature for signature in said if signature.partition("/")[0] == finding.id and not is_detail(signature)]
    weights = [_weight(signature, finding, ruled_out) for signature in own or said]
    if not weights:
        return replace(finding, confidence=Confidence.LIKELY)
    confidence, alternatives = min(weights, key=lambda weight: _ORDER.index(weight[0]))
    return replace(finding, confidence=confidence, alternatives=alternatives)


def _weight(signature: str, finding: Finding, ruled_out: set[str]) -> tuple[Confidence, tuple[Alternative, ...]]:
    causes = message_causes()
    rows = causes.get(signature) or causes.get(signature.partition("/")[0])
    if rows is None:
        from_kernel = all(item.fact == "kernel.log" for item in finding.evidence)
        return (Confidence.CERTAIN if from_kernel else Confidence.LIKELY), ()
    left = tuple(_alternatives(row for row in rows if row.cause and row.cause not in {finding.id, *ruled_out}))
    sure = Confidence(rows[0].confidence) if left else Confidence.CERTAIN
    return (Confidence.LIKELY if sure is Confidence.CERTAIN and "/told-" in signature else sure), left


def _alternatives(rows: Iterable[MessageCause]) -> Iterable[Alternative]:
    from envkit.checks.engine.registry import all_checks

    for row in rows:
        yield Alternative(row.cause, row.title or all_checks()[row.cause].title, row.tell_apart)
