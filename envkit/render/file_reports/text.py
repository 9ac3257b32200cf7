"""Text for people: the faults of each file, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.render.check_report import report_text
from envkit.render.file_reports import CheckedFile


def report(files: Sequence[CheckedFile]) -> str:
    """The reports, one below the other."""
    return "\n\n".join(report_text(file.findings, file.name, file.target) for file in files)
