"""Annotations of GitHub Actions at the lines that the findings point to."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.render.check_report import answered
from envkit.render.file_reports import CheckedFile
from envkit.render.reports.github import workflow_commands


def report(files: Sequence[CheckedFile]) -> str:
    """The workflow commands, one a line."""
    return workflow_commands([answered(file.name, file.findings) for file in files])
