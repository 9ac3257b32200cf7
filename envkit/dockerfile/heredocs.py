"""Finds the heredocs that an instruction opens, by the rule of BuildKit: a word of its own, outside of every quote."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex

# A number and `<<` start the word, and nothing after them does so again: `<<<` hands over a string.
_OPENS = regex(r"\d*<<(-?)([^<]+)")
_SPACES = " \t\r\n"


@record
class Heredoc:
    """One heredoc: the line that ends it, and whether tabs before its lines do not count."""

    end: str
    strips_tabs: bool


def heredocs(text: str) -> Iterator[Heredoc]:
    """The heredocs that the text of an instruction opens, in order; none where a quote is never closed."""
    for word in shell_words(text):
        found = _OPENS.fullmatch(word)
        if found is not None:
            yield Heredoc(_bare(found[2]), bool(found[1]))


def shell_words(text: str) -> list[str]:
    """The words of a command, with their quotes and backslashes; none where a quote or a brace is never closed."""
    words: list[str] = []
    start, position = 0, 0
    while position < len(text):
        if text[position] in _SPACES:
            words.append(text[start:position])
            position = start = position + 1
            continue
        after = _after(text, position)
        if after is None:
            return []
        position = after
    return [word for word in (*words, text[start:]) if word]


def _after(text: str, position: int) -> int | None:
    """Where the piece that starts here ends: a quoted text, a `${…}` or one character; None where it has no end."""
    sign = text[position]
    if sign == "\\":
        return position + 2
    if sign == "'":
        end = text.find("'", position + 1)
        return None if end < 0 else end + 1
    if sign == '"' or text.startswith("${", position):
        return _after_pair(text, position + 1, '"' if sign == '"' else "}")
    return position + 1


def _after_pair(text: str, position: int, end: str) -> int | None:
    while position < len(text):
        if text[position] == end:
            return position + 1
        position += 2 if text[position] == "\\" else 1
    return None


def _bare(word: str) -> str:
    """The word without the quotes and backslashes that only say that nothing in the heredoc is expanded."""
    return word.replace("'", "").replace('"', "").replace("\\", "")
