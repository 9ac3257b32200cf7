"""What `--fix` prints of a file: the smallest change that puts it right, as a diff or as the changed file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.base.errors import RequestError
from envkit.base.shown import shown
from envkit.checks.engine.findings import Finding, Status
from envkit.cli.output import say, write_output

if TYPE_CHECKING:
    from envkit.api.report import FileReport
    from envkit.dockerfile.change import DockerfileChange
    from envkit.project.change import Change

_NO_ERROR = "No errors in what could be checked, so nothing is changed; without --fix, the rest is listed."
_OF_DOCKERFILES = "image."  # the ids of what is found in them


def refuse_formats(form: str | None, *, as_json: bool) -> None:
    """Raises RequestError for a format of reports, of which `--fix` makes none."""
    if form or as_json:
        raise RequestError("--fix prints a change, not a report.", "Omit --format and --json.")


def show_change(text: str, change: Change | DockerfileChange | None, report: FileReport, output: str | None) -> int:
    """Prints or writes the change; 1 where something stays wrong, or is not known."""
    if change is None:
        return _unchanged(report)
    say(f"{shown(report.name)}: {shown('; '.join(change.told))}")
    if output is not None:
        write_output(change.text, output)
    else:
        write_output("\n".join(_difference(text, change.text, shown(report.name))), None)
    _say_left(change.left)
    return int(bool(change.left))


def _say_left(findings: Iterable[Finding]) -> None:
    """One line for each: what is left, and why no repair of it is certain."""
    from envkit.dockerfile.repairs_left import why_left

    for finding in findings:
        why = f": {shown(why_left(finding))}" if finding.id.startswith(_OF_DOCKERFILES) else ""
        say(f"Not fixed: {shown(finding.title)} ({shown(finding.subject)}){why}")


def _unchanged(report: FileReport) -> int:
    from envkit.render.check_report import exit_code

    if exit_code(report.findings) == 0:
        unknown = any(one.status is Status.UNKNOWN for one in report.findings)
        say(_NO_ERROR if unknown else "Nothing needs to change.")
        return 0
    known = report.verdict.id is not None
    first = (
        "envkit knows of no change that makes this file work on the target."
        if known
        else "It is not known whether anything has to change."
    )
    say(f"{first}\n\n{report}")
    _say_left(one for one in report.findings if one.status is Status.FAIL and one.id.startswith(_OF_DOCKERFILES))
    return 1


def _difference(old: str, new: str, name: str) -> Iterator[str]:
    from difflib import unified_diff

    from envkit.privacy.secrets import without_secrets

    for line in unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm=""):
        yield shown(without_secrets(line))
