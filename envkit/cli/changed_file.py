"""What `--fix` prints of a file: the smallest change that puts it right, as a diff or as the changed file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.base.errors import OutputError, RequestError, SourceError
from envkit.base.shown import shown
from envkit.checks.engine.findings import Finding, Status
from envkit.cli.output import say, write_output, write_over

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
        write_over(_changed(report.name, text, change.text), output)
        say(f"Wrote {output}.")
    else:
        write_output("\n".join(_difference(text, change.text, shown(report.name))), None)
    _say_left(change.left)
    return int(bool(change.left))


def _changed(path: str, text: str, changed: str) -> bytes:
    """The file at `path` with its change; of a pipe, which is read once, the text is all that there is.

    Raises SourceError where the text does not hold all that the pipe did, OutputError where the file has changed.
    """
    from envkit.base.rewritten import rewritten
    from envkit.host.user_file import read_user_bytes, text_of

    if not os.path.isfile(path):
        if "\ufffd" in text:
            raise SourceError("--fix: the text is not all UTF-8.", "Pass a file by its name, to keep its bytes.")
        return rewritten(text.encode(), text, changed)
    data = read_user_bytes("--fix", path, 4 * len(text) + 4)
    if text_of(data) != text:
        raise OutputError(f"--output: {path} was changed meanwhile, so it is kept.", "Run the command again.")
    return rewritten(data, text, changed)


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
    """A diff that `patch` takes: with the line ends of the file."""
    from difflib import unified_diff

    from envkit.base.rewritten import lines_of, return_of
    from envkit.privacy.secrets import without_secrets

    ending = return_of(old)
    before, after = (lines_of(text.removesuffix("\n")) for text in (old, new))
    for number, line in enumerate(unified_diff(before, after, name, name, lineterm="")):
        yield f"{shown(without_secrets(line))}{ending if number > 1 and not line.startswith('@@') else ''}"
