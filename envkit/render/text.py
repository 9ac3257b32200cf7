"""The doctor's report for a person: the verdict first, 80 columns, colour only when asked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from envkit.checks.findings import Finding, Status
from envkit.checks.runner import summary
from envkit.facts import Environment
from envkit.render.citations import titles
from envkit.render.machine import machine_lines
from envkit.render.verdict import ASK, Verdict, troubles, verdict

WIDTH = 80
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
    Status.ERROR: "BROKE",
    Status.WARN: "WARN",
    Status.OK: "ok",
    Status.UNKNOWN: "?",
    Status.SKIP: "-",
}


def doctor_text(
    environment: Environment, findings: Sequence[Finding], *, verbose: bool = False, colour: bool = False
) -> str:
    """The whole report. `verbose` also lists what is healthy and what does not apply."""
    paint = _Paint(colour)
    lines = [*_verdict(verdict(environment, findings), paint), ""]
    for finding in troubles(findings):
        lines += [*_finding(finding, paint), ""]
    lines += [*_machine(environment, paint), ""]
    lines += _unknowns(environment, findings, paint, verbose)
    if verbose:
        lines += _short("Healthy", findings, Status.OK, paint) + _short("Does not apply", findings, Status.SKIP, paint)
    lines += _counts(findings)
    return "\n".join(lines) + "\n"


class _Paint:
    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def status(self, status: Status) -> str:
        return self(_LABELS[status].ljust(5), _COLOURS[status])

    def head(self, text: str) -> str:
        return self(text, "1")


def _verdict(answer: Verdict, paint: _Paint) -> Iterator[str]:
    yield from (paint.head(line) for line in _wrap(answer.headline, ""))
    if answer.alternatives:
        yield "It could also be:"
        for other in answer.alternatives:
            yield from _wrap(f"- {other.title}", "  ")
            yield f"    $ {other.tell_apart}"
    elif answer.ask:
        yield from _wrap(ASK, "")
        yield from (f"  $ {command}" for command in answer.ask)


def _finding(finding: Finding, paint: _Paint) -> Iterator[str]:
    subject = f" [{finding.subject}]" if finding.subject else ""
    first, *rest = _wrap(finding.title + subject, " " * 6)
    yield f"{paint.status(finding.status)} {paint.head(first.strip())}"
    yield from (paint.head(line) for line in rest)
    yield from _labelled("check", finding.id)
    if finding.because_of:
        yield from _labelled("follows", f"from {finding.because_of}")
    for item in finding.evidence:
        read_in = item.source or "; ".join(titles(item.sources))  # the addresses are in the JSON
        source = f"  ({read_in})" if read_in else ""
        yield from _labelled("seen", f"{item.fact} = {item.value}{source}")
    if finding.impact:
        yield from _labelled("impact", finding.impact)
    if finding.remedy:
        yield from _labelled("mend", finding.remedy.summary)
        for command in finding.remedy.commands:
            yield f"{'':15}$ {command}"  # never wrapped: it is there to be copied
    for reference in finding.references[:1]:
        yield f"      {'see':<8} {reference}"


def _machine(environment: Environment, paint: _Paint) -> Iterator[str]:
    yield paint.head("Machine" if environment.origin == THIS_MACHINE else f"Machine ({environment.origin})")
    for label, text in machine_lines(environment):
        yield from textwrap.wrap(
            f"  {label:<11}{text}",
            WIDTH,
            subsequent_indent=" " * 15,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )


def _unknowns(environment: Environment, findings: Iterable[Finding], paint: _Paint, verbose: bool) -> list[str]:
    """What could not be looked at: one line for each reason, with the checks that it stopped.

    A text or a capture tells a part of a machine; that most checks lack their facts there is said in one line.
    """
    stopped: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status is Status.UNKNOWN:
            stopped.setdefault(finding.title, []).append(finding.id)
    if not stopped:
        return []
    lines = [paint.head("Could not look")]
    if not verbose and environment.origin != THIS_MACHINE and len(stopped) > FEW:
        count = sum(map(len, stopped.values()))
        lines += _wrap(f"{count} checks lack facts that {environment.origin} does not tell; -v lists them.", "  ")
        return [*lines, ""]
    for title, ids in stopped.items():
        shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        lines += textwrap.wrap(f"  {title}: {shown}", WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return [*lines, ""]


def _short(title: str, findings: Iterable[Finding], status: Status, paint: _Paint) -> list[str]:
    chosen = [finding for finding in findings if finding.status is status]
    if not chosen:
        return []
    lines = [paint.head(title)]
    for finding in chosen:
        subject = f" [{finding.subject}]" if finding.subject else ""
        text = f"{finding.id}: {finding.title}{subject}"
        wrapped = _wrap(text, " " * 8)
        lines.append(f"  {paint.status(status)} {wrapped[0].strip()}")
        lines += wrapped[1:]
    return [*lines, ""]


def _counts(findings: Sequence[Finding]) -> list[str]:
    words = {"ok": "ok", "warn": "warn", "fail": "fail", "skip": "do not apply", "unknown": "unknown", "error": "broke"}
    counts = summary(findings)
    return [
        "Checks: " + ", ".join(f"{counts[key]} {word}" for key, word in words.items() if counts[key] or key == "ok")
    ]


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"      {label:<8} ",
        subsequent_indent=" " * 15,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [indent]
