"""The JSON document of one file; of several files, that of each under `files`."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.render.check_report import documents_json, file_document
from envkit.render.file_reports import CheckedFile


def report(files: Sequence[CheckedFile]) -> str:
    """The document as text."""
    return documents_json([file_document(file.name, file.findings) for file in files])
