"""What a diagnosis gives: a record that the command line prints and a program reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Finding
from envkit.documents.verdict import Verdict, verdict
from envkit.model import Environment
from envkit.render.file_reports import CheckedFile, formatted

if TYPE_CHECKING:
    from envkit.checks.engine.registry import Check
    from envkit.dockerfile.build_context import BuildContext
    from envkit.dockerfile.change import DockerfileChange
    from envkit.solver.request import Request
    from envkit.tables import Matrix


_LONGEST = 500  # characters of a text that quotes a file


@record
class Report:
    """One machine, diagnosed. `findings` are in root-cause order; `chosen`: of the checks that the user named alone."""

    environment: Environment
    findings: tuple[Finding, ...]
    verdict: Verdict
    chosen: bool = False

    def to_json(self) -> str:
        """The document that `envkit doctor --json` prints."""
        from envkit.documents.doctor import doctor_json

        return doctor_json(self.environment, self.findings)

    def __str__(self) -> str:
        from envkit.base.shown import inert
        from envkit.render.text import doctor_text

        return doctor_text(*inert((self.environment, self.findings)))


@record
class FileReport:
    """One file, checked. `findings` are the errors first, then in the order of the file's lines."""

    name: str
    findings: tuple[Finding, ...]
    verdict: Verdict
    target: str = ""  # what it was judged for, in words

    def to_json(self) -> str:
        """The document that `envkit check --json` prints of this file."""
        return formatted([self.checked], "json")

    def __str__(self) -> str:
        return formatted([self.checked], "text")

    @property
    def checked(self) -> CheckedFile:
        """The file as the formats of reports take it."""
        return CheckedFile(self.name, self.findings, self.target)


def judged(
    environment: Environment, checks: Sequence[Check], matrix: Matrix, *, mask: bool, chosen: bool = False
) -> Report:
    """The environment and what the checks find in it; with `mask`, without what identifies a person or a machine.

    The masks come first: what a check says of masked facts cannot name what they hide.
    """
    from envkit.checks.engine.runner import run_checks

    if mask:
        from envkit.privacy.masker import mask_environment

        environment = mask_environment(environment)
    findings = tuple(run_checks(environment, matrix, checks))
    return Report(environment, findings, verdict(environment, findings), chosen)


def file_report(path: str, request: Request, matrix: Matrix, option: str, context: str | None = None) -> FileReport:
    """The Dockerfile, checked for the GPUs and the driver of the request; `option` is who named it.

    `context` is the folder from which it copies files; without one, that is its own. Raises SourceError for a file
    that cannot be read, or not as a Dockerfile, and for a context that is no folder.
    """
    text, check = _checked(path, request, matrix, option, context)
    return _file_report(path, check(text))


def file_change(
    path: str, request: Request, matrix: Matrix, option: str, context: str | None = None
) -> tuple[str, DockerfileChange | None, FileReport]:
    """The Dockerfile's text, the change that leaves fewer errors, if one is known, and its report as it is.

    Raises SourceError as `file_report` does.
    """
    from envkit.dockerfile.change import change_for

    text, check = _checked(path, request, matrix, option, context)
    found = check(text)
    return text, change_for(text, found, check, matrix), _file_report(path, found)


def _checked(
    path: str, request: Request, matrix: Matrix, option: str, context: str | None
) -> tuple[str, Callable[[str], Sequence[Finding]]]:
    """The text of a Dockerfile, and its check, which takes any other text for it too."""
    from envkit.dockerfile.check import check_dockerfile
    from envkit.host.user_file import named_folder, read_beside, read_inside, read_user_file

    folder = None if context is None else named_folder("--context", context)
    sent = None if folder is None else _sent(path, folder)

    def beside(name: str) -> str | None:
        return read_beside(path, name) if folder is None else read_inside(folder, name)

    def check(text: str) -> Sequence[Finding]:
        try:
            return check_dockerfile(text, request, matrix, beside, sent)
        except SourceError as error:
            raise SourceError(f"{option}: {path}: {error.message}", error.hint) from None

    return read_user_file(option, path, reader="Docker"), check


def _sent(path: str, folder: str) -> BuildContext:
    """The build context that the user named, without what is excluded from it."""
    from envkit.dockerfile.build_context import IGNORE, BuildContext
    from envkit.host.user_file import kind_inside, read_beside, read_inside

    own = os.path.basename(path)
    ignore = read_beside(path, f"{own}{IGNORE}")  # the one of this Dockerfile alone comes first
    ignore = ignore if ignore is not None else read_inside(folder, IGNORE)
    return BuildContext(lambda name: kind_inside(folder, name), ignore or "", own)


def _file_report(path: str, findings: Sequence[Finding]) -> FileReport:
    from envkit.render.check_report import file_verdict

    findings = as_told(findings)
    return FileReport(path, findings, file_verdict(findings))


def as_told(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that quote a file, as a report may tell them: no login or token of an address, no endless word."""
    from envkit.base.shown import with_each_text
    from envkit.privacy.secrets import without_secrets

    def told(text: str) -> str:
        text = without_secrets(text)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    return with_each_text(tuple(findings), told)
