"""SARIF 2.1.0, one run for each file, with the lines that the findings point to."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.render.check_report import answered
from envkit.render.file_reports import CheckedFile
from envkit.render.reports.sarif import log


def report(files: Sequence[CheckedFile]) -> str:
    """The log as text."""
    return log(answered(file.name, file.findings) for file in files)
