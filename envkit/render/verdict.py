"""What every report says first, and which findings it then shows: one judgement for text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit.checks.findings import Finding, Status
from envkit.facts import PASTED, Environment, Problem

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
    statuses = {finding.status for finding in findings}
    if Status.WARN in statuses:
        return "Nothing is broken; see the warnings."
    if Status.OK in statuses:
        return "Nothing wrong was found."
    return "Nothing in this text was recognised." if unread(environment) else "Too little is known to judge."


def healthy(findings: Sequence[Finding]) -> bool:
    """True when something was looked at, nothing failed and no check broke."""
    statuses = {finding.status for finding in findings}
    return Status.OK in statuses and not statuses & {Status.FAIL, Status.ERROR}


def unread(environment: Environment) -> bool:
    """True for a pasted text in which no reader found a fact and no known message stands."""
    from envkit.render.facts_text import walk  # reports that find something do not need it

    if environment.origin != PASTED or environment.messages.value:
        return False
    return all(path == "messages" or fact.problem is Problem.NOT_LOOKED for path, fact in walk(environment))


def troubles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a report shows in full, in root-cause order."""
    return [finding for finding in findings if finding.status in _TROUBLE]
