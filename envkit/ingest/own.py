"""What envkit wrote for people: its reports quote a machine's troubles, and hold too few facts to be judged again."""

from __future__ import annotations

from envkit.ingest.text import clean
from envkit.regex import regex

_MARKS = (
    regex(r"(?m)^ {6}check {4}[a-z][a-z0-9-]{2,60}$"),  # a finding of the report in text
    regex(r"(?m)^### envkit doctor: "),
    regex(r"<title>envkit doctor: "),
    regex(r"(?m)^Facts\n {2}system\.os(?: = |: )"),  # `envkit probe`
)
_WITHOUT_FINDINGS = (regex(r"(?m)^Machine(?: \([^\n]{1,80}\))?$"), regex(r"(?m)^Checks: \d+ ok"))
_DOCUMENT = regex(r'\s*\{\s*"(?:schema|environment|origin)"\s*:')


def own_report(text: str) -> bool:
    """True for a text, Markdown or HTML report of `envkit doctor`, and for the text of `envkit probe`."""
    plain = clean(text).whole
    return any(mark.search(plain) for mark in _MARKS) or all(mark.search(plain) for mark in _WITHOUT_FINDINGS)


def own_document(text: str) -> bool:
    """True for what begins as envkit's JSON does, whether or not it is whole."""
    return _DOCUMENT.match(text) is not None
