"""Names of Python distributions in the one form in which they can be compared."""

from __future__ import annotations

from envkit._startup.regex import regex

_SEPARATORS = regex(r"[-_.]+")


def normalized(name: str) -> str:
    """The name as indexes compare it (PEP 503): lower case, each run of `-_.` one `-`."""
    return _SEPARATORS.sub("-", name).lower()
