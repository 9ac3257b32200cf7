"""The findings on a Dockerfile as text for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from envkit.checks.findings import Finding, Status
from envkit.checks.runner import summary
from envkit.json_text import dumps
from envkit.render.citations import titles
from envkit.render.doctor_json import SCHEMA, finding_document
from envkit.shown import inert, shown

WIDTH = 80
_SHOWN = (Status.FAIL, Status.WARN, Status.UNKNOWN)


def report_text(findings: Sequence[Finding], name: str) -> str:
    """Every fault with its place, its consequence and its mend, in 80 columns."""
    name, findings = shown(name), inert(tuple(findings))
    listed = [finding for finding in findings if finding.status in _SHOWN]
    counts = [f"{sum(finding.status is status for finding in listed)} {word}" for status, word in _WORDS]
    lines = [f"{name}: {', '.join(counts)}"]
    for finding in listed:
        lines += ["", *_finding(finding)]
    sources = titles(key for finding in listed for key in finding.sources)
    if sources:
        lines += ["", *_wrapped("Sources: ", "; ".join(sources))]
    if not any(finding.status is Status.FAIL for finding in listed):
        unseen = any(finding.status is Status.UNKNOWN for finding in listed)
        told = "Nothing that could be judged" if unseen else "Nothing here"
        end = "the rest is not known" if unseen else "as far as the data goes"
        lines += ["", *_wrapped("", f"{told} stops the image from working, {end}.")]
    return "\n".join(lines)


_WORDS = ((Status.FAIL, "wrong"), (Status.WARN, "to watch"), (Status.UNKNOWN, "not on record"))


def _finding(finding: Finding) -> Iterator[str]:
    yield from _wrapped(f"{finding.status.value.upper():<8}", finding.title)
    place = f"        {finding.subject}  [{finding.id}]"
    yield from [place] if len(place) <= WIDTH else [f"        {finding.subject}", f"        [{finding.id}]"]
    if finding.impact:
        yield from _wrapped("        ", finding.impact)
    if finding.remedy is not None:
        yield from _wrapped("   Mend ", finding.remedy.summary)
        for command in finding.remedy.commands:
            yield f"          {command}"


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
        break_long_words=False,
    )


def report_json(findings: Sequence[Finding]) -> str:
    """The findings as one JSON object: schema, findings, summary."""
    document = {
        "schema": SCHEMA,
        "findings": [finding_document(finding) for finding in findings],
        "summary": summary(findings),
    }
    return dumps(document)
