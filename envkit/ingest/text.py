"""A pasted text as readers search it: lines, their numbers, and patterns tried only where they can match.

A log may have a million lines. A pattern is therefore tried only in lines that hold a plain part of it, a `needle`,
and no needle is looked for whose words do not occur in the text at all. Both take a time that grows with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate

from envkit._startup.regex import regex

_SAME = 1000  # times that one line is looked at; a log that has it more often repeats itself
ALIKE = 100  # lines that differ in digits alone of which the messages are looked for
_CHUNK = 1_000_000  # bytes of which words are taken at a time
_WORD_BYTES = bytes(byte | 32 if chr(byte).isascii() and chr(byte).isalpha() else 32 for byte in range(256))
_WORDS = regex(r"[a-z]+")
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_FOLDED = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Text:
    """Cleaned lines and, for each, its line number in the text as it was pasted (from 1).

    Several files can be one text: `files` then holds the number that the first line of each has, and its name.
    """

    lines: tuple[str, ...]
    numbers: Sequence[int] = field(repr=False)
    files: tuple[tuple[int, str], ...] = ((1, ""),)

    @cached_property
    def whole(self) -> str:
        """The lines joined by newlines: what most readers search."""
        return "\n".join(self.lines)

    @cached_property
    def flat(self) -> str:
        """The whole in lower case with a blank for each newline; every character where it is in `whole`."""
        folded = self.whole.lower()
        if len(folded) != len(self.whole):  # some letters have a longer lower case
            folded = self.whole.translate(_FOLDED)
        return folded.replace("\n", " ")

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line starts, and the place behind the last one's newline."""
        return list(accumulate(map((1).__add__, map(len, self.lines)), initial=0))

    @cached_property
    def _words(self) -> frozenset[bytes]:
        """Every run of ASCII letters in the text, in lower case."""
        once = "\n".join(dict.fromkeys(self.lines))  # long logs repeat their lines
        data = once.encode("utf-8", "replace").translate(_WORD_BYTES)
        words: set[bytes] = set()
        start = 0
        while start < len(data):
            end = data.find(b" ", start + _CHUNK)
            end = len(data) if end < 0 else end
            words.update(data[start:end].split())
            start = end
        return frozenset(words)

    @cached_property
    def _word_list(self) -> str:
        """The words one behind the other."""
        return b" ".join(self._words).decode()

    @cached_property
    def repeats(self) -> Sequence[bool]:
        """For each line, whether many before it differ from it in digits alone."""
        counts: Counter[bytes] = Counter()
        repeated = []
        for shape in self.whole.encode("utf-8", "replace").translate(_DIGITS).split(b"\n"):
            counts[shape] += 1
            repeated.append(counts[shape] > ALIKE)
        return repeated

    @cached_property
    def _same(self) -> Sequence[bool]:
        """For each line, whether very many before it are the same."""
        counts: Counter[str] = Counter()
        repeated = []
        for line in self.lines:
            counts[line] += 1
            repeated.append(counts[line] > _SAME)
        return repeated

    @cached_property
    def after_repeats(self) -> Sequence[int]:
        """For each line, where the next one starts that does not repeat earlier ones; the end where there is none."""
        after = [len(self.whole)] * len(self.lines)
        for index in range(len(self.lines) - 2, -1, -1):
            after[index] = after[index + 1] if self.repeats[index + 1] else self._starts[index + 1]
        return after

    def index(self, offset: int) -> int:
        """The index in `lines` of the line that holds `offset` of `whole`."""
        return bisect_right(self._starts, offset, 0, len(self.lines)) - 1

    def place(self, offset: int) -> tuple[str, int]:
        """The name of the file, '' for a text without one, and the line number in it, of `offset` of `whole`."""
        number = self.numbers[self.index(offset)] if self.numbers else 1
        first, name = self.files[bisect_right(self.files, (number, "\U0010ffff")) - 1]
        return name, number - first + 1

    def line_at(self, offset: int) -> str:
        """The cleaned line that holds `offset` of `whole`."""
        return self.lines[self.index(offset)] if self.lines else ""

    @cached_property
    def _broken_width(self) -> int:
        """The width at which lines seem to have been cut in two: the widest one, where several fill it; else 0."""
        widest = max(map(len, self.lines), default=0)
        return widest if sum(len(line) == widest for line in self.lines) > 1 else 0

    def cut_off(self, offset: int, version: str) -> bool:
        """True when the line at `offset`, which ends in `version`, may lack its end.

        It may when it goes on in the next line, or when it is the last one, has no line end and a short version.
        """
        last = self.index(offset) == len(self.lines) - 1 and version.count(".") < 2
        return last or len(self.line_at(offset)) == self._broken_width

    def may_hold(self, needle: str) -> bool:
        """False where a word of `needle` occurs nowhere in the text, in any case: then `needle` does not either."""
        longest, inner = _longest_words(needle)
        return (not inner or inner in self._words) and longest in self._word_list

    def holds(self, needle: str) -> bool:
        """Whether `needle` occurs in the text; fast where it does not."""
        return self.may_hold(needle) and needle in self.whole

    def lines_with(self, *needles: str) -> list[int]:
        """The indices of the lines that hold one of `needles`, in order."""
        found = [list(self._lines_with(needle)) for needle in needles if self.may_hold(needle)]
        return found[0] if len(found) == 1 else sorted(set().union(*found))

    def _lines_with(self, needle: str) -> Iterator[int]:
        whole, starts = self.whole, self._starts
        position = whole.find(needle)
        while position >= 0:
            index = bisect_right(starts, position) - 1
            yield index
            position = whole.find(needle, starts[index + 1]) if index + 1 < len(self.lines) else -1

    def matches_once(self, pattern: re.Pattern[str], *needles: str) -> Iterator[re.Match[str]]:
        """Every match of `pattern` in a line with one of `needles` that is not one of many alike."""
        for index in self.lines_with(*needles):
            if not self.repeats[index]:
                yield from pattern.finditer(self.whole, self._starts[index], self._starts[index + 1] - 1)

    def matches(self, pattern: re.Pattern[str], *needles: str, lines: int = 1) -> Iterator[re.Match[str]]:
        """Every match of `pattern` that begins in a line with one of `needles` and spans at most `lines` lines."""
        whole, starts, last = self.whole, self._starts, len(self.lines)
        passed_over = self._same if lines == 1 else None
        position = 0
        for index in self.lines_with(*needles):
            if passed_over and passed_over[index]:
                continue
            start, end = starts[index], starts[index + 1] - 1
            stop = end if lines == 1 else starts[min(index + lines, last)] - 1
            if position < start:
                position = start
            while position <= end:
                match = pattern.search(whole, position, stop)
                if match is None or match.start() > end:
                    break
                yield match
                position = max(match.end(), match.start() + 1)


@lru_cache(maxsize=4096)
def _longest_words(needle: str) -> tuple[str, bytes]:
    """The longest run of letters in `needle`, and the longest with other characters on both sides; '' where none is.

    The first occurs wherever `needle` does, maybe inside a longer word; the second occurs there as a word of its own.
    """
    folded = needle.lower()
    runs = list(_WORDS.finditer(folded))
    inner = [run.group() for run in runs if run.start() > 0 and run.end() < len(folded)]
    return max((run.group() for run in runs), key=len, default=""), max(inner, key=len, default="").encode()
