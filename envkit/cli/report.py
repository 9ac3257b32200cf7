"""What `doctor` prints of one environment or several, in each format, and the exit code that it ends with."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.api.report import Report
from envkit.base.errors import RequestError
from envkit.base.shown import inert
from envkit.checks.engine.findings import Finding, Status
from envkit.documents.verdict import unseen
from envkit.model import Environment


def exit_code(reports: Sequence[Report], fail_on: str) -> int:
    """1 when one of the reports is not what `fail_on` (fail, warn, unknown) lets pass."""
    return int(any(_fails(report, fail_on) for report in reports))


def _fails(report: Report, fail_on: str) -> bool:
    """Whether a finding failed or broke, or nothing could be judged; `warn` adds warnings, `unknown` also ignorance.

    Ignorance counts where it concerns a fact that decides whether a program can use the GPU, or a check that the user
    asked for: that nobody looked at Docker or at the free disk space is no reason to refuse a machine.
    """
    statuses = {finding.status for finding in report.findings}
    if report.verdict.status is Status.UNKNOWN or statuses & {Status.FAIL, Status.ERROR}:
        return True
    if fail_on != "fail" and Status.WARN in statuses:
        return True
    ignorant = Status.UNKNOWN in statuses and (report.chosen or bool(unseen(report.environment)))
    return fail_on == "unknown" and ignorant


def told(reports: Sequence[Report]) -> str:
    """The answers in a line, for a person whose report went into a file."""
    return " ".join(report.verdict.headline for report in reports)


def rendered(reports: Sequence[Report], form: str, *, verbose: bool, to_file: bool) -> str:
    """The reports in one format. Raises RequestError for several where the format holds one."""
    if form == "json" and len(reports) == 1:
        return reports[0].to_json()
    pairs: list[tuple[Environment, Sequence[Finding]]] = [(report.environment, report.findings) for report in reports]
    if form == "json":
        from envkit.documents.doctor import doctors_json

        return doctors_json(pairs)
    pairs = [inert(pair) for pair in pairs]  # from here on it is for people's eyes
    if form == "html":
        from envkit.render.html import doctor_html

        if len(pairs) > 1:
            raise RequestError(f"--format html holds one report, not {len(pairs)}.", "Give one --from at a time.")
        return doctor_html(*pairs[0])
    if form == "markdown":
        from envkit.render.markdown import doctor_markdown

        return "\n".join(doctor_markdown(*pair) for pair in pairs)
    from envkit.base.wrap import WIDTH
    from envkit.cli.terminal import in_its_letters, text_width, wants_colour
    from envkit.render.text import doctor_text

    color, width = not to_file and wants_colour(), WIDTH if to_file else text_width()
    texts = [doctor_text(*pair, verbose=verbose, color=color, width=width) for pair in pairs]
    if len(texts) > 1:
        texts = [f"=== {pair[0].origin} ===\n{text}" for pair, text in zip(pairs, texts, strict=True)]
    whole = "\n".join(texts)
    return whole if to_file else in_its_letters(whole)
