"""What every report says first, and which findings it then shows: one judgement for text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit.checks.findings import Evidence, Finding, Status
from envkit.checks.messages import all_messages, message_evidence
from envkit.facts import PASTED, Environment, Message, Problem

_SAYS_NOTHING_ALONE = {"tf-finds-no-driver"}  # every TensorFlow on a machine without a GPU writes it
_TROUBLE = (Status.FAIL, Status.WARN, Status.ERROR)


def root_cause(findings: Iterable[Finding]) -> Finding | None:
    """The first `fail`, the answer to "what is wrong?"; None when nothing failed."""
    return next((finding for finding in findings if finding.status is Status.FAIL), None)


def verdict(environment: Environment, findings: Sequence[Finding]) -> str:
    """The root cause in words; without one: checks that broke, warnings, health, or that too little is known."""
    cause = root_cause(findings)
    if cause is not None:
        return cause.title
    broken = len({finding.id for finding in findings if finding.status is Status.ERROR})
    if broken:
        checks = f"{broken} checks" if broken > 1 else "One check"
        return f"{checks} of envkit itself broke, so that health cannot be told."
    message = unjudged(environment, findings)
    if message is not None:
        return f"A known message stands here that no check of this place judges: {message.signature.partition('/')[0]}."
    statuses = {finding.status for finding in findings}
    if Status.WARN in statuses:
        return "Nothing is broken; see the warnings."
    if Status.OK in statuses:
        return "Nothing wrong was found."
    return "Nothing in this text was recognised." if unread(environment) else "Too little is known to judge."


def healthy(environment: Environment, findings: Sequence[Finding]) -> bool:
    """True when something was looked at, nothing failed, no check broke and no known message is left unjudged."""
    statuses = {finding.status for finding in findings}
    sound = Status.OK in statuses and not statuses & {Status.FAIL, Status.ERROR}
    return sound and unjudged(environment, findings) is None


def unjudged(environment: Environment, findings: Iterable[Finding]) -> Message | None:
    """The first known message whose own check only skipped and that no other judges: a sign of trouble, not of health.

    A finding judges a message when it names it as evidence.
    """
    statuses: dict[str, set[Status]] = {}
    judged: set[Evidence] = set()
    for finding in findings:
        statuses.setdefault(finding.id, set()).add(finding.status)
        judged |= set(finding.evidence) if finding.status is not Status.SKIP else set()
    skipped = {id for id, own in statuses.items() if own == {Status.SKIP}} - _SAYS_NOTHING_ALONE
    left = (told for told in all_messages(environment) if told.signature.partition("/")[0] in skipped)
    return next((told for told in left if judged.isdisjoint(message_evidence(environment, [told]))), None)


def unread(environment: Environment) -> bool:
    """True for a pasted text in which no reader found a fact and no known message stands."""
    from envkit.render.facts_text import walk  # reports that find something do not need it

    if environment.origin != PASTED or environment.messages.value:
        return False
    return all(path == "messages" or fact.problem is Problem.NOT_LOOKED for path, fact in walk(environment))


def troubles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a report shows in full, in root-cause order."""
    return [finding for finding in findings if finding.status in _TROUBLE]
