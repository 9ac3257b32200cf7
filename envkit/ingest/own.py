"""What envkit wrote for people: its reports quote a machine's troubles, and hold too few facts to be judged again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.regex import regex
from envkit.ingest.cleaning import clean
from envkit.ingest.text import Text

_MARKS = {
    regex(r"^ {6}check {4}[a-z][a-z0-9-]{2,60}$", re.MULTILINE): "   check    ",  # a finding of a report until 0.1.0
    regex(r"^ {2}More {2}envkit explain [a-z][a-z0-9-]{2,60}$", re.MULTILINE): "  More  envkit explain ",  # until 0.1.0
    regex(r"^ {2}See also {2}envkit explain [a-z][a-z0-9-]{2,60}$", re.MULTILINE): "  See also  envkit explain ",
    regex(r"(?:^|(?:passed|run|shows)\.\s)Use -v for details\.$", re.MULTILINE): "Use -v for details.",
    regex(r"Add -v for evidence and (?:the rest|all checks)\.$", re.MULTILINE): "Add -v for evidence",  # until 0.1.0
    regex(r"^### envkit (?:doctor: |fleet · )", re.MULTILINE): "### envkit ",
    regex(r"<title>envkit[: ]"): "<title>envkit",
    regex(r"^Facts\n {2}system\.os(?: = |: )", re.MULTILINE): "Facts",  # `envkit probe`
}
_WITHOUT_FINDINGS = {
    regex(r"^Machine(?: \([^\n]{1,80}\))?$", re.MULTILINE): "Machine",
    regex(r"^Checks: \d{1,6} (?:ok|passed)", re.MULTILINE): "Checks: ",
}
_DOCUMENT = regex(r'\s{0,1000}\{\s{0,1000}"(?:schema|environment|origin)"\s{0,1000}:')


def own_report(text: str) -> bool:
    """True for a text, Markdown or HTML report of `envkit doctor`, and for the text of `envkit probe`."""
    if not any(words in text for words in (*_MARKS.values(), "Checks: ")):
        return False  # a long log is not cleaned for this question
    plain = clean(text)
    return any(_holding(plain, _MARKS)) or all(_holding(plain, _WITHOUT_FINDINGS))


def _holding(text: Text, marks: Mapping[re.Pattern[str], str]) -> Iterator[bool]:
    return (text.has(mark, words, lines=2) for mark, words in marks.items())


def own_document(text: str) -> bool:
    """True for what begins as envkit's JSON does, whether or not it is whole."""
    return _DOCUMENT.match(text) is not None
