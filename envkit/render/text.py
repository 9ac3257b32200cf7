"""The doctor's report for a person: the verdict first, as wide as asked, color only when asked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from envkit.base.wrap import WIDTH
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import plugins_of, summary
from envkit.documents.citations import titles
from envkit.documents.verdict import ASK, Verdict, troubles, verdict
from envkit.model import Environment
from envkit.render.machine import machine_lines

FEW = 8  # reasons that are listed one by one
THIS_MACHINE = Environment().origin
_COLOURS = {
    Status.FAIL: "31;1",
    Status.ERROR: "31",
    Status.WARN: "33;1",
    Status.OK: "32",
    Status.UNKNOWN: "36",
    Status.SKIP: "2",
}
_LABELS = {
    Status.FAIL: "FAIL",
    Status.ERROR: "ERROR",
    Status.WARN: "WARN",
    Status.OK: "ok",
    Status.UNKNOWN: "?",
    Status.SKIP: "-",
}


def doctor_text(
    environment: Environment,
    findings: Sequence[Finding],
    *,
    verbose: bool = False,
    color: bool = False,
    width: int = WIDTH,
) -> str:
    """The whole report. `verbose` also lists what is healthy and what does not apply."""
    page = _Page(width, color)
    lines = [*_verdict(verdict(environment, findings), page), ""]
    for finding in troubles(findings):
        lines += [*_finding(finding, page), ""]
    lines += [*_machine(environment, page), ""]
    lines += _unknowns(environment, findings, page, verbose)
    if verbose:
        lines += _short("Healthy", findings, Status.OK, page) + _short("Does not apply", findings, Status.SKIP, page)
    lines += _counts(findings, page)
    return "\n".join(lines) + "\n"


class _Page:
    """How the report looks: its width, and color or none."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self.color = color

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def status(self, status: Status) -> str:
        return self.paint(_LABELS[status].ljust(5), _COLOURS[status])

    def head(self, text: str) -> str:
        return self.paint(text, "1")

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> list[str]:
        """The text in lines that begin with `indent`, the first one with `first`; words stay whole, to be copied."""
        start = indent if first is None else first
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [start]

    def labelled(self, label: str, text: str) -> list[str]:
        return self.wrap(text, " " * 15, f"      {label:<8} ")


def _verdict(answer: Verdict, page: _Page) -> Iterator[str]:
    yield from (page.head(line) for line in page.wrap(answer.headline))
    if answer.alternatives:
        yield "It could also be:"
        for other in answer.alternatives:
            yield from page.wrap(f"- {other.title}", "  ")
            yield f"    $ {other.tell_apart}"
    elif answer.ask:
        yield from page.wrap(ASK)
        yield from (f"  $ {command}" for command in answer.ask)


def _finding(finding: Finding, page: _Page) -> Iterator[str]:
    subject = f" [{finding.subject}]" if finding.subject else ""
    first, *rest = page.wrap(finding.title + subject, " " * 6)
    yield f"{page.status(finding.status)} {page.head(first.strip())}"
    yield from (page.head(line) for line in rest)
    yield from page.labelled("check", f"{finding.id} of {finding.plugin}" if finding.plugin else finding.id)
    if finding.because_of:
        yield from page.labelled("follows", f"from {finding.because_of}")
    for item in finding.evidence:
        read_in = item.source or "; ".join(titles(item.sources))  # the addresses are in the JSON
        source = f"  ({read_in})" if read_in else ""
        yield from page.labelled("seen", f"{item.fact} = {item.value}{source}")
    if finding.impact:
        yield from page.labelled("impact", finding.impact)
    if finding.remedy:
        yield from page.labelled("fix", finding.remedy.summary)
        for command in finding.remedy.commands:
            yield f"{'':15}$ {command}"  # never wrapped: it is there to be copied
    for reference in finding.references[:1]:
        yield f"      {'see':<8} {reference}"


def _machine(environment: Environment, page: _Page) -> Iterator[str]:
    yield page.head("Machine" if environment.origin == THIS_MACHINE else f"Machine ({environment.origin})")
    for label, text in machine_lines(environment):
        yield from page.wrap(text, " " * 15, f"  {label:<11}")


def _unknowns(environment: Environment, findings: Iterable[Finding], page: _Page, verbose: bool) -> list[str]:
    """What could not be looked at: one line for each reason, with the checks that it stopped.

    A text or a capture tells a part of a machine; that most checks lack their facts there is said in one line.
    """
    stopped: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status is Status.UNKNOWN:
            stopped.setdefault(finding.title, []).append(finding.id)
    if not stopped:
        return []
    lines = [page.head("Not checked")]
    if not verbose and environment.origin != THIS_MACHINE and len(stopped) > FEW:
        count = sum(map(len, stopped.values()))
        lines += page.wrap(f"{count} checks lack facts that {environment.origin} does not tell; -v lists them.", "  ")
        return [*lines, ""]
    for title, ids in stopped.items():
        shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        lines += page.wrap(f"{title}: {shown}", "    ", "  ")
    return [*lines, ""]


def _short(title: str, findings: Iterable[Finding], status: Status, page: _Page) -> list[str]:
    chosen = [finding for finding in findings if finding.status is status]
    if not chosen:
        return []
    lines = [page.head(title)]
    for finding in chosen:
        subject = f" [{finding.subject}]" if finding.subject else ""
        text = f"{finding.id}: {finding.title}{subject}"
        wrapped = page.wrap(text, " " * 8)
        lines.append(f"  {page.status(status)} {wrapped[0].strip()}")
        lines += wrapped[1:]
    return [*lines, ""]


def _counts(findings: Sequence[Finding], page: _Page) -> list[str]:
    words = {"ok": "ok", "warn": "warn", "fail": "fail", "skip": "do not apply", "unknown": "unknown", "error": "broke"}
    counts = summary(findings)
    told = ", ".join(f"{counts[key]} {word}" for key, word in words.items() if counts[key] or key == "ok")
    plugins = plugins_of(findings)
    return page.wrap(f"Checks: {told}", "  ", "") + (page.wrap(f"Plug-ins: {', '.join(plugins)}") if plugins else [])
