"""What was judged, a machine or a file, as programs that collect findings need it: with places that they can open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envkit._startup.records import record
from envkit.checks.engine.findings import Finding
from envkit.documents.places import Place, line_of, place_in_file
from envkit.documents.verdict import Verdict, verdict
from envkit.model import Environment


@record
class Answered:
    """The findings on one thing and the answer that they give; `place` is where in a file one points, if it does."""

    command: str
    name: str
    findings: Sequence[Finding]
    answer: Verdict
    place: Callable[[Finding], Place | None]


def answered(environment: Environment, findings: Sequence[Finding]) -> Answered:
    """A machine: a finding points to the line of the text that was given of it."""
    answer = verdict(environment, findings)
    return Answered("doctor", environment.origin, findings, answer, lambda finding: line_of(finding.evidence))


def answered_file(name: str, findings: Sequence[Finding], answer: Verdict) -> Answered:
    """A file: a finding points to one of its lines, or to a line of a file that it includes."""
    return Answered("check", name, findings, answer, lambda finding: place_in_file(name, finding.subject))
