"""The findings on a Dockerfile as text for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envkit.base.json_text import dumps
from envkit.base.shown import inert, shown
from envkit.checks.engine.evidence import many
from envkit.checks.engine.findings import Confidence, Finding, Remedy, Status
from envkit.checks.engine.runner import summary
from envkit.documents.answered import Answered, answered_file
from envkit.documents.citations import titles
from envkit.documents.doctor import SCHEMA, finding_document, tool_document, verdict_document
from envkit.documents.verdict import Verdict
from envkit.tables.rows import os_title

if TYPE_CHECKING:
    from envkit.solver.request import Request

WIDTH = 80
# What is known of an image, and says nothing of whether what is installed works.
_ONLY_KNOWN = frozenset({"image.python-of-pip", "image.framework-in-base", "image.archive-gone"})
_LABELS = {Status.FAIL: "ERROR", Status.WARN: "WARN", Status.UNKNOWN: "UNKNOWN"}
_PLAIN = frozenset(
    {"a", "an", "all", "driver", "every", "images", "it", "no", "only", "standard", "support", "the", "there", "this"}
)
_SHOWN = (Status.FAIL, Status.WARN, Status.UNKNOWN)


def report_text(findings: Sequence[Finding], name: str, target: str = "") -> str:
    """Every fault with its place, its consequence and its fix, in 80 columns."""
    name, findings = shown(name), inert(tuple(findings))
    listed = [finding for finding in findings if finding.status in _SHOWN]
    first = f"{name}{f' for {shown(target)}' if target else ''}:"
    whole = f"{first} {_counts(listed)}"
    lines = [whole] if len(whole) <= WIDTH else [*_wrapped("", first), _counts(listed)]
    alike: dict[tuple[object, ...], list[Finding]] = {}  # of what is the same for several lines, one text
    for finding in listed:
        alike.setdefault((finding.status, finding.id, finding.title, finding.remedy), []).append(finding)
    given: set[Remedy] = set()  # a change of the whole file is the fix of several faults
    for same in alike.values():
        lines += ["", *_finding(same), *_fix(same[0].remedy, given)]
    sources = titles(key for finding in listed for key in finding.sources)
    if sources:
        lines += ["", _sources_line(sources)]
    unused = [finding.subject for finding in findings if finding.status is Status.SKIP]
    if unused:
        lines += ["", *_wrapped("", f"Not checked, because the last stage does not use it: {'; '.join(unused)}")]
    answer = file_verdict(findings)
    if answer.status is not Status.FAIL:
        lines += ["", *_wrapped("", answer.title if answer.id is None else "No errors.")]
    return "\n".join(lines)


def target_text(request: Request) -> str:
    """What a file is judged for: `Ubuntu 22.04 x86_64, NVIDIA L4 (sm_89), driver 550.54.15, Python 3.10`."""
    counts: dict[str, int] = {}
    for gpu in request.gpus:
        counts[str(gpu)] = counts.get(str(gpu), 0) + 1
    system = os_title(request.os_id or request.platform)
    words = [f"{system} {request.architecture}"]
    words += [name if count == 1 else f"{count}x {name}" for name, count in counts.items()]
    words += [f"driver {request.driver}"] if request.driver is not None else []
    words = words if len(words) > 1 else [*words, "no GPU or driver"]
    words += [f"Python {request.python}"] if request.python is not None else []
    return ", ".join(words)


def _sources_line(sources: Sequence[str]) -> str:
    """The sources on one line: their titles if they fit, otherwise their number and where to find them."""
    line = f"Sources: {'; '.join(sources)}"
    return line if len(line) <= WIDTH else f"{many(len(sources), 'source')} (--json lists them)"


def file_verdict(findings: Sequence[Finding]) -> Verdict:
    """The first error; without one: that nothing could be checked, the first warning, or that nothing is wrong."""
    for status in (Status.FAIL, Status.WARN):
        cause = next((finding for finding in findings if finding.status is status), None)
        if cause is not None:
            return Verdict(status, cause.title, cause.id, cause.confidence)
    statuses = {finding.status for finding in findings}
    if Status.UNKNOWN not in statuses:
        place = " in the stages that the last stage uses" if Status.SKIP in statuses else ""
        return Verdict(Status.OK, f"No errors found{place}.", confidence=Confidence.LIKELY)
    if any(finding.status is Status.OK and finding.id not in _ONLY_KNOWN for finding in findings):
        return Verdict(Status.OK, "No errors in what could be checked.", confidence=Confidence.POSSIBLE)
    title = "Nothing in this file could be checked, so it is not known whether it works."
    return Verdict(Status.UNKNOWN, title, confidence=Confidence.POSSIBLE)


def answered(name: str, findings: Sequence[Finding]) -> Answered:
    """A file as programs that collect findings need it, with nothing in it that acts on a terminal."""
    findings = inert(tuple(findings))
    return answered_file(shown(name), findings, file_verdict(findings))


def exit_code(findings: Sequence[Finding], fail_on: str = "fail") -> int:
    """1 for an error, and where nothing could be checked; `warn` adds warnings, `unknown` also what is not known."""
    lets_pass = {"fail": (Status.WARN, Status.UNKNOWN), "warn": (Status.UNKNOWN,), "unknown": ()}[fail_on]
    wrong = {Status.FAIL, Status.WARN, Status.UNKNOWN}.difference(lets_pass)
    nothing_judged = file_verdict(findings).status is Status.UNKNOWN
    return int(nothing_judged or any(finding.status in wrong for finding in findings))


def _counts(findings: Sequence[Finding]) -> str:
    """`1 error, 2 unknown`; what there is none of is left out, but for errors."""
    counts = [sum(finding.status is status for finding in findings) for status in _SHOWN]
    nouns = ("error" if counts[0] == 1 else "errors", "warning" if counts[1] == 1 else "warnings", "unknown")
    pairs = zip(counts, nouns, strict=True)
    return ", ".join(f"{count} {noun}" for count, noun in pairs if count or noun == "errors")


def _finding(same: Sequence[Finding]) -> Iterator[str]:
    finding = same[0]
    yield from _wrapped(f"{_LABELS[finding.status]:<8}", _headline(finding.title))
    yield from (f"        {other.subject}" for other in same[:-1])
    place = f"        {same[-1].subject}  [{finding.id}]"
    yield from [place] if len(place) <= WIDTH else [f"        {same[-1].subject}", f"        [{finding.id}]"]
    if finding.impact:
        yield from _wrapped("        ", finding.impact)


def _headline(title: str) -> str:
    """The title with a capital, unless it begins with the name of a package or a program."""
    return title[:1].upper() + title[1:] if title.partition(" ")[0] in _PLAIN else title


def _fix(remedy: Remedy | None, given: set[Remedy]) -> Iterator[str]:
    if remedy is None:
        return
    if remedy in given:
        yield "  Fix   Same as above."
        return
    given.add(remedy)
    yield from _wrapped("  Fix   ", remedy.summary)
    for command in remedy.commands:
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


def file_document(name: str, findings: Sequence[Finding]) -> dict[str, object]:
    """One file's findings with its name."""
    return {"file": name, **_document(findings)}


def documents_json(documents: Sequence[Mapping[str, object]]) -> str:
    """The document of one file; of several files, that of each under `files`."""
    return dumps(documents[0] if len(documents) == 1 else {"schema": SCHEMA, "files": documents})


def _document(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "tool": tool_document(findings),
        "verdict": verdict_document(file_verdict(findings)),
        "findings": [finding_document(finding) for finding in findings],
        "summary": summary(findings),
    }
