"""One finding as plain paragraphs, for the outputs that hold nothing but text."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.fact_words import in_a_line
from envkit.checks.engine.findings import Finding
from envkit.documents.citations import seen_in
from envkit.model import Problem

_NOT_SEEN = ("", Problem.NOT_LOOKED.value)  # values of what nobody has looked at


def named(finding: Finding) -> str:
    """The title with the part of the machine that it is about."""
    return f"{finding.title} ({finding.subject})" if finding.subject else finding.title


def paragraphs(finding: Finding) -> Iterator[str]:
    """What does not work, the cause if another finding is it, the fix with its commands, and the evidence."""
    if finding.impact:
        yield finding.impact
    if finding.because_of:
        yield f"Fixing {finding.because_of} also fixes this."
    if finding.remedy:
        yield "\n".join((f"Fix: {finding.remedy.summary}", *(f"$ {line}" for line in finding.remedy.commands)))
    seen = [(in_a_line(item), seen_in(item)) for item in finding.evidence if item.value not in _NOT_SEEN]
    if seen:
        yield "\n".join(f"Seen: {told}" + (f" ({place})" if place else "") for told, place in seen)
