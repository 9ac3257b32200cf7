"""What `doctor` prints of one environment or several, in each format, and the exit code that it ends with."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.api.report import Report
from envkit.checks.engine.evidence import in_words
from envkit.checks.engine.findings import Status
from envkit.documents.verdict import unseen


def exit_code(reports: Sequence[Report], fail_on: str) -> int:
    """1 when one of the reports is not what `fail_on` (fail, warn, unknown) lets pass."""
    return int(any(_fails(report, fail_on) for report in reports))


def _fails(report: Report, fail_on: str) -> bool:
    """Whether a finding failed or broke, or nothing could be checked; `warn` adds warnings, `unknown` also ignorance.

    Ignorance counts where it concerns a fact that decides whether a program can use the GPU, or a check that the user
    asked for: that nobody looked at Docker or at the free disk space is not a reason to refuse a machine.
    """
    statuses = {finding.status for finding in report.findings}
    if report.verdict.status is Status.UNKNOWN or statuses & {Status.FAIL, Status.ERROR}:
        return True
    if fail_on != "fail" and Status.WARN in statuses:
        return True
    ignorant = Status.UNKNOWN in statuses and (report.chosen or bool(unseen(report.environment)))
    return fail_on == "unknown" and ignorant


def doubts(reports: Sequence[Report], fail_on: str) -> str:
    """Why the exit status is 1 although no report names a problem, for a person; '' where the reports say it."""
    troubles = {Status.FAIL, Status.ERROR, Status.WARN}
    silent = [one for one in reports if one.verdict.status is Status.OK and _fails(one, fail_on)]
    if not silent or any(finding.status in troubles for one in reports for finding in one.findings):
        return ""
    paths = dict.fromkeys(path for one in silent for path in unseen(one.environment))
    lacking = ", ".join(map(in_words, paths)) or "a requested check"
    return f"Exit status 1, because --strict (--fail-on unknown) was given and this could not be checked: {lacking}."


def told(reports: Sequence[Report]) -> str:
    """The answers in a line, for a person whose report went into a file."""
    return " ".join(report.verdict.headline for report in reports)


def rendered(reports: Sequence[Report], form: str, *, verbose: bool, to_file: bool) -> str:
    """The reports in one format. Raises RequestError for several where the format holds one."""
    from envkit.cli.terminal import paper
    from envkit.render.reports import FIRST, Look, formatted

    page = paper(to_file)
    look = Look(verbose, page.color, page.width)
    text = formatted([(report.environment, report.findings) for report in reports], form, look)
    return page.fitted(text) if form == FIRST else text
