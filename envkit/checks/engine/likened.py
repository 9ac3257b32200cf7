"""What a text is like, where nothing else says what is wrong: the cause that reports in like words had, as a hint.

It is reported as a warning that is `possible` at most. No fact shows it, so the verdict stays "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.engine.confidence import message_causes
from envkit.checks.engine.findings import Alternative, Confidence, Finding, Remedy, Status
from envkit.checks.engine.messages import message_evidence
from envkit.model import READS_LIKE, Environment, Message

if TYPE_CHECKING:
    from envkit.checks.engine.registry import Check

MARK = "(like known reports)"  # after the place of evidence that is a likeness
_IMPACT = "The wording of the input resembles reports with this cause. Nothing in it shows the cause itself."
_ANSWERED = (Status.FAIL, Status.WARN, Status.ERROR)


def likened(environment: Environment, findings: Sequence[Finding], checks: Mapping[str, Check]) -> list[Finding]:
    """The findings; where none of them is an answer, with the hint in place of the check that could not look."""
    hint = _hint(environment)
    if hint is None or any(finding.status in _ANSWERED for finding in findings):
        return list(findings)
    own = [finding for finding in findings if finding.id == hint.values.get("cause")]
    if not own or any(finding.status is Status.OK for finding in own):
        return list(findings)
    fine = {finding.id for finding in findings if finding.status is Status.OK}
    if any(message.signature.partition("/")[0] in fine for message in environment.messages.get()):
        return list(findings)  # a known message is explained
    others = [checks[id] for id in hint.values.get("others", "").split() if id in checks and id not in fine]
    told = _told(environment, hint, own[0], checks[own[0].id], others)
    return [told if finding is own[0] else finding for finding in findings if finding not in own[1:]]


def is_likened(finding: Finding) -> bool:
    """Whether the finding is such a hint."""
    return any(item.source.endswith(MARK) for item in finding.evidence)


def told_apart(id: str) -> tuple[str, ...]:  # noqa: A002 - as in reports
    """The commands whose output shows whether a cause is the one, as far as they are known."""
    commands = (row.tell_apart for rows in message_causes().values() for row in rows if row.cause == id)
    return tuple(dict.fromkeys(filter(None, commands)))[:1]


def _hint(environment: Environment) -> Message | None:
    if not environment.pasted:
        return None
    return next((each for each in environment.messages.value or () if each.signature == READS_LIKE), None)


def _told(environment: Environment, hint: Message, silent: Finding, check: Check, others: Sequence[Check]) -> Finding:
    evidence = (replace(item, source=f"{item.source} {MARK}") for item in message_evidence(environment, [hint]))
    return replace(
        silent,
        status=Status.WARN,
        title=f"The wording resembles known reports of: {check.title}",
        evidence=tuple(evidence),
        impact=_IMPACT,
        remedy=Remedy(_advice(check, others)),
        confidence=Confidence.POSSIBLE,
        alternatives=tuple(Alternative(other.id, other.title, _apart(other)) for other in others),
    )


def _apart(check: Check) -> str:
    """The command that says whether it is this cause, or what to look for."""
    return next(iter(told_apart(check.id)), f"envkit explain {check.id}")


def _advice(check: Check, others: Sequence[Check]) -> str:
    """What shows whether it is so, what helps if it is, and what else the text reads like."""
    shown = "".join(f"`{command}` shows whether this is the cause. " for command in told_apart(check.id))
    also = " It also reads like reports of " if others else ""
    causes = " and ".join(f"{other.id} ({other.title})" for other in others)
    return (
        f"Make sure first: envkit explain {check.id} says what to look for. {shown}Only if this is the cause: "
        f"{check.fix}{also}{causes}{'.' if others else ''}"
    )
