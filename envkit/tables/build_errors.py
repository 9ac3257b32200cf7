"""Messages of docker and of the tools inside a build, and what each of them means."""

from __future__ import annotations

import re

from envkit.tables import images as data


def explain(log: str) -> tuple[str, str] | None:
    """What went wrong and what to do, from the end of a log; None for a message that is not on record."""
    for row in data.table("build_errors"):
        found = re.search(row.pattern, log, re.IGNORECASE | re.MULTILINE)
        if found:
            detail = found.groupdict().get("detail")
            return (f"{row.message[:-1]}: {detail}." if detail else row.message), row.hint
    return None
