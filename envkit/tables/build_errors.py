"""Messages of docker and of the tools inside a build, and what each of them means."""

from __future__ import annotations

import re

from envkit.tables.images import BuildError
from envkit.tables.loader import read


def explain(log: str) -> tuple[str, str] | None:
    """What went wrong and what to do, from the end of a log; None for a message that is not known to envkit."""
    for row in read(BuildError):
        found = re.search(row.pattern, log, re.IGNORECASE | re.MULTILINE)
        if found:
            detail = found.groupdict().get("detail")
            return (f"{row.message[:-1]}: {detail}." if detail else row.message), row.hint
    return None
