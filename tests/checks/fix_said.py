"""What the fix of a check says of a text: its advice and its commands."""

from __future__ import annotations

from tests.checks.test_remedies_suited import told


def said(text: str, check: str) -> str:
    """The advice and the commands of a check's fix, a line each."""
    given = told(text, check)
    return "\n".join((given.advice, *given.commands))


def assert_fix(text: str, check: str, parts: list[str], without: list[str]) -> None:
    """Fails unless a check's fix holds each of the parts and none of the others."""
    words = said(text, check)
    assert [part for part in parts if part not in words] == [], words
    assert [part for part in without if part in words] == [], words
