"""Names of Python distributions in the one form in which they can be compared."""

from __future__ import annotations

from envkit._startup.regex import regex

_SEPARATORS = regex(r"[-_.]+")
_AT_FRONT = regex(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def normalized(name: str) -> str:
    """The name as indexes compare it (PEP 503): lower case, each run of `-_.` one `-`."""
    return _SEPARATORS.sub("-", name).lower()


def requirement_name(requirement: str) -> str:
    """The normalized name that a requirement line begins with; '' where it begins with none, as an option does."""
    match = _AT_FRONT.match(requirement)
    return normalized(match.group(1)) if match else ""
