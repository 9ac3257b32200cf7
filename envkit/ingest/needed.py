"""The words that every match of a pattern holds, read off the pattern in a tenth of the time that compiling it takes.

A text that lacks them needs no search. Only plain parts count: whatever may be absent, repeated, or one of a class
splits words, so that what is named here is never more than what a match has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from envkit._startup.regex import regex

AnyOf = tuple[str, ...]  # words of which a match holds at least one
_PARTS = regex(
    r"(?P<plain>[^\\\[\](){}|?*+.^$ \n])|\\(?:(?P<escaped>[^\w\s])|x[\da-fA-F]{2}|u[\da-fA-F]{4}|.)"
    r"|\[\^?\]?(?:\\.|[^][\\])*\]|\(\?(?:P=\w+|[a-z]+)\)"
    r"|(?P<look>\(\?<?[=!])|(?P<open>\((?:\?(?:P<\w+>|:))?)|(?P<close>\))|(?P<bar>\|)|(?P<repeat>[?*+]|\{[\d,]+\})\??|.",
)
_MAY_BE_ABSENT = ("?", "*", "{0", "{,")
_SHORTEST = 2  # letters that are worth a look


@cache
def needed(pattern: str) -> tuple[AnyOf, ...]:
    """In lower case; of each entry, every match holds at least one word."""
    tokens = ((match.lastgroup or "", match[match.lastgroup or 0]) for match in _PARTS.finditer(pattern))
    return tuple(words for words in _alternatives(tokens) if min(map(len, words)) >= _SHORTEST)


def _alternatives(tokens: Iterator[tuple[str, str]]) -> list[AnyOf]:
    """What a pattern or a group holds, up to its end; of several alternatives, one word of each."""
    branches = [_Branch()]
    for kind, part in tokens:
        if kind in ("plain", "escaped"):
            branches[-1].add(part)
        elif kind == "repeat":
            branches[-1].repeat(absent=part.startswith(_MAY_BE_ABSENT))
        elif kind == "open":
            branches[-1].group(_alternatives(tokens))
        elif kind == "look":
            _alternatives(tokens)
            branches[-1].group([])
        elif kind == "bar":
            branches.append(_Branch())
        elif kind == "close":
            break
        else:
            branches[-1].group([])
    every = [branch.words() for branch in branches]
    if len(every) == 1:
        return every[0]
    if not all(every):
        return []
    return [tuple(word for words in every for word in max(words, key=lambda any_of: min(map(len, any_of))))]


class _Branch:
    """One alternative while it is read."""

    def __init__(self) -> None:
        self._run = ""  # plain characters that stand side by side
        self._words: list[AnyOf] = []
        self._last: list[AnyOf] = []  # of the group before, as long as it may turn out to be absent

    def add(self, character: str) -> None:
        self._settle()
        self._run += character.lower()

    def group(self, words: list[AnyOf]) -> None:
        self._settle()
        self._end_run()
        self._last = words

    def repeat(self, *, absent: bool) -> None:
        if absent:
            self._last = []
            self._run = self._run[:-1]
        self._settle()
        self._end_run()

    def words(self) -> list[AnyOf]:
        self._settle()
        self._end_run()
        return self._words

    def _settle(self) -> None:
        self._words += self._last
        self._last = []

    def _end_run(self) -> None:
        if self._run:
            self._words.append((self._run,))
        self._run = ""
