"""One finding as plain paragraphs, for the outputs that hold nothing but text."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.findings import Finding
from envkit.documents.citations import seen_in


def named(finding: Finding) -> str:
    """The title with the part of the machine that it is about."""
    return f"{finding.title} ({finding.subject})" if finding.subject else finding.title


def paragraphs(finding: Finding) -> Iterator[str]:
    """What does not work, the cause if another finding is it, the fix with its commands, and the evidence."""
    if finding.impact:
        yield finding.impact
    if finding.because_of:
        yield f"Caused by {finding.because_of}; fixing that fixes this, too."
    if finding.remedy:
        yield "\n".join((f"Fix: {finding.remedy.summary}", *(f"$ {line}" for line in finding.remedy.commands)))
    seen = [(item.fact, item.value, seen_in(item)) for item in finding.evidence]
    if seen:
        yield "\n".join(f"Seen: {fact} = {value}" + (f" ({place})" if place else "") for fact, value, place in seen)
