"""The doctor's report in Markdown, short enough for an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.checks.engine.fact_words import QUOTED, fact_label
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import plugins_of
from envkit.documents.citations import seen_in
from envkit.documents.verdict import ASK, Verdict, counted, troubles, verdict
from envkit.model import Environment
from envkit.render.machine import machine_lines
from envkit.render.markdown_text import code, fenced, prose


def doctor_markdown(environment: Environment, findings: Sequence[Finding]) -> str:
    """Verdict, findings that are not well, the machine, what could not be looked at."""
    answer = verdict(environment, findings)
    lines = [f"### envkit doctor: {prose(answer.heading)}", "", *_more(answer)]
    for finding in troubles(findings):
        lines += [*_finding(finding), ""]
    lines += ["**Machine**", ""]
    lines += [
        f"- {label}: {prose(text.strip())}" if label else f"  - {prose(text.strip())}"
        for label, text in machine_lines(environment)
    ]
    unknown = dict.fromkeys(finding.id for finding in findings if finding.status is Status.UNKNOWN)
    if unknown and not environment.pasted:  # a text tells a part of a machine: most checks lack their facts
        lines += ["", f"Could not run: {prose(', '.join(unknown))}"]
    lines += ["", f"Checks: {counted(findings)}"]
    if plugins := plugins_of(findings):
        lines += ["", f"Plug-ins: {', '.join(map(code, plugins))}"]
    return "\n".join(lines) + "\n"


def _more(answer: Verdict) -> Iterator[str]:
    if answer.alternatives:
        yield "It could also be:"
        yield ""
        yield from (f"- {prose(other.title)}: check with {code(other.tell_apart)}" for other in answer.alternatives)
        yield ""
    elif answer.ask:
        yield ASK
        yield from ("", *fenced(answer.ask), "")


def _finding(finding: Finding) -> Iterator[str]:
    subject = f" ({prose(finding.subject)})" if finding.subject else ""
    plugin = f" of {code(finding.plugin)}" if finding.plugin else ""
    yield f"**{finding.status.value.upper()}** {prose(finding.title)}{subject} {code(finding.id)}{plugin}"
    yield ""
    if finding.because_of:
        yield f"- fixing {code(finding.because_of)} also fixes this"
    for item in finding.evidence:
        place = seen_in(item)
        called = "" if item.fact == QUOTED else f"{prose(fact_label(item.fact))}: "
        yield f"- seen: {called}{code(item.value)}" + (f" ({prose(place)})" if place else "")
    if finding.impact:
        yield f"- impact: {prose(finding.impact)}"
    if finding.remedy:
        yield f"- fix: {prose(finding.remedy.summary)}"
        if finding.remedy.commands:
            yield from ("", *fenced(finding.remedy.commands), "")
    if not finding.plugin:
        pages = "".join(f", {prose(page)}" for page in finding.references[:1])
        yield f"- see also: {code(f'envkit explain {finding.id}')}{pages}"
