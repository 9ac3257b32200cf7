"""One part of a file pattern as a regular expression, the same for live and recorded machines."""

from __future__ import annotations

import re
from functools import cache


@cache
def name_pattern(part: str) -> re.Pattern[str]:
    """The names that a part of a glob pattern matches; a leading dot must be written out."""
    import fnmatch

    text = fnmatch.translate(part)
    return re.compile(text if part.startswith(".") else rf"(?!\.){text}")


def fixed_start(part: str) -> str:
    """What every name that matches a part of a pattern begins with: all of it where it has no wildcard."""
    for wildcard in "*?[":
        part = part.partition(wildcard)[0]
    return part
