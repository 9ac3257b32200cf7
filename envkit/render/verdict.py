"""What every report says first, and which findings it then shows: one judgement for text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit.checks.findings import Finding, Status

_TROUBLE = (Status.FAIL, Status.WARN, Status.ERROR)


def root_cause(findings: Iterable[Finding]) -> Finding | None:
    """The first `fail`, the answer to "what is wrong?"; None when nothing failed."""
    return next((finding for finding in findings if finding.status is Status.FAIL), None)


def verdict(findings: Sequence[Finding]) -> str:
    """The root cause in words; without one, whether there are warnings, health, or too little to judge by."""
    cause = root_cause(findings)
    if cause is not None:
        return cause.title
    statuses = {finding.status for finding in findings}
    if Status.WARN in statuses:
        return "Nothing is broken; see the warnings."
    return "Nothing wrong was found." if Status.OK in statuses else "Too little is known to judge."


def troubles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a report shows in full, in root-cause order."""
    return [finding for finding in findings if finding.status in _TROUBLE]
