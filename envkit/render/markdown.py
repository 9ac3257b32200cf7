"""The doctor's report in Markdown, short enough for an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.checks.findings import Finding, Status
from envkit.checks.runner import summary
from envkit.facts import Environment
from envkit.render.citations import seen_in
from envkit.render.machine import machine_lines
from envkit.render.verdict import ASK, Verdict, troubles, verdict


def doctor_markdown(environment: Environment, findings: Sequence[Finding]) -> str:
    """Verdict, findings that are not well, the machine as a table, what could not be looked at."""
    answer = verdict(environment, findings)
    lines = [f"### envkit doctor: {_escape(answer.headline)}", "", *_more(answer)]
    for finding in troubles(findings):
        lines += [*_finding(finding), ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {label} | {_escape(text)} |" for label, text in machine_lines(environment)]
    unknown = [finding.id for finding in findings if finding.status is Status.UNKNOWN]
    if unknown:
        lines += ["", f"Could not look: {', '.join(dict.fromkeys(unknown))}"]
    counts = summary(findings)
    lines += ["", "Checks: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count)]
    return "\n".join(lines) + "\n"


def _more(answer: Verdict) -> Iterator[str]:
    if answer.alternatives:
        yield "It could also be:"
        yield ""
        yield from (f"- {_escape(other.title)}: {_code(other.tell_apart)} tells" for other in answer.alternatives)
        yield ""
    elif answer.ask:
        yield ASK
        yield from ("", "```sh", *answer.ask, "```", "")


def _finding(finding: Finding) -> Iterator[str]:
    subject = f" ({_escape(finding.subject)})" if finding.subject else ""
    yield f"**{finding.status.value.upper()}** {_escape(finding.title)}{subject} `{finding.id}`"
    yield ""
    if finding.because_of:
        yield f"- follows from `{finding.because_of}`"
    for item in finding.evidence:
        place = seen_in(item)
        yield f"- seen: `{item.fact}` = {_code(item.value)}" + (f" from {_code(place)}" if place else "")
    if finding.impact:
        yield f"- impact: {_escape(finding.impact)}"
    if finding.remedy:
        yield f"- mend: {_escape(finding.remedy.summary)}"
        if finding.remedy.commands:
            yield from ("", "```sh", *finding.remedy.commands, "```")


def _escape(text: str) -> str:
    for character in "\\`*_<>|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"
