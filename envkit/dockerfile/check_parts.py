"""How the findings on a Dockerfile are put together: where they point, and what a verdict becomes."""

from __future__ import annotations

from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.checks.engine.registry import ImageFault
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import ShellCommand

_STATUS = {
    "ok": Status.OK,
    "warn": Status.WARN,
    "fail": Status.FAIL,
    DriverVerdict.INCOMPATIBLE.value: Status.FAIL,
    DriverVerdict.UNKNOWN.value: Status.UNKNOWN,
}
_FIRST_WORDS = 6  # of a command: enough to see which one is meant


def status_of(verdict: Verdict) -> Status:
    """What a verdict is as the status of a finding."""
    return _STATUS.get(verdict.status, Status.OK)


def subject_of(line: int, what: str) -> str:
    """Where a finding points: the line, and what is there."""
    return f"line {line}: {what}"


def command_subject(command: ShellCommand, line: int | None = None) -> str:
    """Where a finding on a command points: its line, or that of the word that is meant, and how the command begins."""
    return subject_of(command.line if line is None else line, " ".join(command.words[:_FIRST_WORDS]))


def package_subject(package: Package) -> str:
    """Where a finding on a package points: its line, and what is asked for."""
    return subject_of(package.line, package.asked)


def line_of(finding: Finding) -> int:
    """The line that a finding points to."""
    return int(finding.subject.removeprefix("line ").partition(":")[0])


def finding(
    fault: ImageFault,
    status: Status,
    title: str,
    subject: str,
    *,
    impact: str = "",
    remedy: Remedy | None = None,
    sources: tuple[str, ...] = (),
) -> Finding:
    """A finding of a declared kind."""
    return Finding(
        fault.id, status, title, subject, impact=impact, remedy=remedy, references=fault.references, sources=sources
    )


def stop(
    fault: ImageFault, title: str, subject: str, *, impact: str, fix: str = "", sources: tuple[str, ...] = ()
) -> Finding:
    """The finding on what stops the build, with the fix of its kind where no better one is known."""
    return finding(fault, Status.FAIL, title, subject, impact=impact, remedy=Remedy(fix or fault.fix), sources=sources)


def from_verdict(fault: ImageFault, verdict: Verdict, subject: str, impact: str, fix: str, *steps: Command) -> Finding:
    """The finding that a verdict is, with its fix where something is wrong."""
    status = status_of(verdict)
    wrong = status in (Status.FAIL, Status.WARN)
    remedy = Remedy(fix, steps) if wrong else None
    return finding(
        fault,
        status,
        verdict.detail,
        subject,
        impact=impact if wrong else "",
        remedy=remedy,
        sources=verdict.sources,
    )
