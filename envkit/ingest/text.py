"""A pasted text as readers search it: lines, their numbers, and patterns tried only where they can match.

A log may have a million lines. A pattern is therefore tried only in lines that hold a plain part of it, a `needle`,
and no needle is looked for whose words do not occur in the text at all. Both take a time that grows with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, compress
from operator import not_

_SAME = 1000  # times that one line is looked at; a log that has it more often repeats itself
_MANY = 5000  # lines with a needle beyond which those that differ in digits alone are passed over, too
ALIKE = 100  # lines that differ in digits alone of which the messages are looked for
_OFTEN = 16  # a needle that one line of so many holds is frequent
_QUESTION = 300  # characters
_SHORT = 10_000  # characters of a text that is searched for a needle at once
_PIECE = 4  # bytes that are known by themselves: looking through all words takes longer
_CHUNK = 10_000  # lines of which words are taken at a time
_WORD_BYTES = bytes(byte | 32 if chr(byte).isascii() and chr(byte).isalpha() else 32 for byte in range(256))
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
Part = tuple[int, int]  # of a text: where it begins and ends
_FOLDED = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Text:
    """Cleaned lines and, for each, its line number in the text as it was pasted (from 1).

    Several files can be one text: `files` then holds the number that the first line of each has, and its name.
    `programs` are those whose prefixes were taken off the lines.
    """

    lines: tuple[str, ...]
    numbers: Sequence[int] = field(repr=False)
    files: tuple[tuple[int, str], ...] = ((1, ""),)
    programs: tuple[str, ...] = ()

    @cached_property
    def whole(self) -> str:
        """The lines joined by newlines: what most readers search."""
        return "\n".join(self.lines)

    @property
    def is_question(self) -> bool:
        """Whether it is as short as a question in somebody's own words, which has no room for a second subject."""
        return len(self.whole) <= _QUESTION

    @cached_property
    def flat(self) -> str:
        """The whole in lower case with a blank for each newline; every character where it is in `whole`."""
        if self.whole.isascii():
            return self.whole.lower().replace("\n", " ")
        return " ".join(map(_folded, self.lines))  # line by line: it takes room for twelve times what it folds at once

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line starts, and the place behind the last one's newline."""
        return _starts_of(self.lines)

    @cached_property
    def _words(self) -> frozenset[bytes]:
        """Every run of ASCII letters in the text, in lower case."""
        words: set[bytes] = set()
        for start in range(0, len(self.lines), _CHUNK):
            once = "\n".join(dict.fromkeys(self.lines[start : start + _CHUNK]))  # long logs repeat their lines
            words.update(once.encode("utf-8", "replace").translate(_WORD_BYTES).split())
        return frozenset(words)

    @cached_property
    def _pieces(self) -> frozenset[int]:
        """Every piece of the words one behind the other."""
        return _pieces_of(self._word_list.encode())

    @cached_property
    def _word_list(self) -> str:
        """The words one behind the other."""
        return b" ".join(self._words).decode()

    @cached_property
    def repeats(self) -> Sequence[bool]:
        """For each line, whether many before it differ from it in digits alone."""
        without = self.whole.encode("utf-8", "replace").translate(_DIGITS).split(b"\n") if self.lines else []
        return _later_than(ALIKE, list(map(hash, without)))

    @cached_property
    def _same(self) -> Sequence[bool]:
        """For each line, whether very many before it are the same."""
        return _later_than(_SAME, self.lines)

    @cached_property
    def after_repeats(self) -> Sequence[int]:
        """For each line, where the next one starts that does not repeat earlier ones; the end where there is none."""
        after = [len(self.whole)] * len(self.lines)
        for index in range(len(self.lines) - 2, -1, -1):
            after[index] = after[index + 1] if self.repeats[index + 1] else self._starts[index + 1]
        return after

    def several_in_one(self, apart: Text) -> Iterator[Part]:
        """Where each line begins and ends that is several lines of `apart`, the same text with these broken."""
        following = (*self.numbers[1:], apart.numbers[-1] + 1)
        for index, (number, after) in enumerate(zip(self.numbers, following, strict=True)):
            if after - number > 1:
                yield self._starts[index], self._starts[index + 1] - 1

    def start(self, index: int) -> int:
        """The offset in `whole` at which the line of that index starts."""
        return self._starts[index]

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
        """False where a long text lacks a word of `needle`, in any case: then it does not hold `needle` either."""
        if len(self.whole) < _SHORT:
            return True  # looking for it takes less time than taking it apart
        longest, inner, pieces = _longest_words(needle)
        return (not inner or inner in self._words) and pieces <= self._pieces and longest in self._word_list

    def holds(self, needle: str) -> bool:
        """Whether `needle` occurs in the text; fast where it does not."""
        return self.may_hold(needle) and needle in self.whole

    @cached_property
    def _said(self) -> dict[str, bool]:
        """What `says` has answered: many messages share their words."""
        return {}

    def says(self, words: str) -> bool:
        """Whether `words`, which are in lower case, occur in the text in any case; fast where they do not."""
        said = self._said.get(words)
        if said is None:
            said = self._said[words] = self.may_hold(words) and words in self.flat
        return said

    @cached_property
    def _lines_of(self) -> dict[str, list[int]]:
        """The indices of the lines with each needle that was looked for: readers share many of them."""
        return {}

    def lines_with(self, *needles: str) -> list[int]:
        """The indices of the lines that hold one of `needles`, in order."""
        found = [self._lines_of.get(needle) or self._with(needle) for needle in needles if self.may_hold(needle)]
        return found[0] if len(found) == 1 else sorted(set().union(*found))

    def _with(self, needle: str) -> list[int]:
        start = self.whole.count(needle, 0, len(self.whole) // _OFTEN)
        if start * _OFTEN * _OFTEN > len(self.lines):  # line by line it takes less time than hit by hit
            lines = [index for index, line in enumerate(self.lines) if needle in line]
        else:
            lines = list(_with_one(self.whole, self._starts, needle))
        self._lines_of[needle] = lines
        return lines

    @cached_property
    def brief(self) -> str:
        """The text without lines that are among many alike: what one of them holds, those that are left hold, too."""
        return self._once[0]

    @cached_property
    def _once(self) -> tuple[str, list[int], Sequence[int]]:
        """The text without lines that are among many alike, where its lines start, and the index that each has here."""
        if True not in self.repeats:
            return self.whole, self._starts, range(len(self.lines))
        indices = [index for index, repeated in enumerate(self.repeats) if not repeated]
        lines = [self.lines[index] for index in indices]
        return "\n".join(lines), _starts_of(lines), indices

    def has(self, pattern: re.Pattern[str], *needles: str, lines: int = 1) -> bool:
        """Whether `matches` finds any."""
        return next(self.matches(pattern, *needles, lines=lines), None) is not None

    def matches_once(self, pattern: re.Pattern[str], *needles: str) -> Iterator[re.Match[str]]:
        """Every match of `pattern` in a line with one of `needles` that is not one of many alike."""
        once, starts, indices = self._once
        for number in _lines_with(once, starts, filter(self.may_hold, needles)):
            index = indices[number]
            yield from pattern.finditer(self.whole, self._starts[index], self._starts[index + 1] - 1)

    def matches(self, pattern: re.Pattern[str], *needles: str, lines: int = 1) -> Iterator[re.Match[str]]:
        """Every match of `pattern` that begins in a line with one of `needles` and spans at most `lines` lines."""
        whole, starts, last = self.whole, self._starts, len(self.lines)
        indices = self.lines_with(*needles)
        if lines == 1 and len(indices) > _SAME:
            passed_over = self.repeats if len(indices) > _MANY else self._same
            indices = list(compress(indices, map(not_, map(passed_over.__getitem__, indices))))
        position = 0
        for index in indices:
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


def _folded(line: str) -> str:
    folded = line.lower()
    return folded if len(folded) == len(line) else line.translate(_FOLDED)  # some letters have a longer lower case


def as_one(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, which are in order, with those that overlap made one."""
    start, end = 0, -1
    for first, last in parts:
        if first > end:
            if end >= 0:
                yield start, end
            start = max(first, 0)
        end = last
    if end >= 0:
        yield start, end


def _later_than(most: int, lines: Sequence[Hashable]) -> Sequence[bool]:
    """For each line, whether it stands behind `most` others that are equal."""
    seen = {line: 0 for line, count in Counter(lines).items() if count > most}
    if not seen:
        return [False] * len(lines)
    later = []
    for line in lines:
        if line in seen:
            seen[line] += 1
            later.append(seen[line] > most)
        else:
            later.append(False)
    return later


def _starts_of(lines: Sequence[str]) -> list[int]:
    """Where each line starts in the lines joined, and the place behind the last one's newline."""
    return list(accumulate(map((1).__add__, map(len, lines)), initial=0))


def _lines_with(whole: str, starts: list[int], needles: Iterable[str]) -> list[int]:
    """The indices of the lines that hold one of `needles`, in order."""
    found = [list(_with_one(whole, starts, needle)) for needle in needles]
    return found[0] if len(found) == 1 else sorted(set().union(*found))


def _with_one(whole: str, starts: list[int], needle: str) -> Iterator[int]:
    position, last = whole.find(needle), len(starts) - 1
    while position >= 0:
        index = bisect_right(starts, position) - 1
        yield index
        position = whole.find(needle, starts[index + 1]) if index + 1 < last else -1


@lru_cache(maxsize=4096)
def _longest_words(needle: str) -> tuple[str, bytes, frozenset[int]]:
    """The longest run of letters in `needle`, the longest with other characters on both sides, the first one's pieces.

    '' and none where there are no such. The first occurs wherever `needle` does, maybe inside a longer word; the second
    occurs there as a word of its own.
    """
    data = needle.encode("utf-8", "replace").translate(_WORD_BYTES)
    runs = data.split()
    inner = runs[not data.startswith(b" ") : len(runs) - (not data.endswith(b" "))]
    longest = max(runs, key=len, default=b"")
    return longest.decode(), max(inner, key=len, default=b""), _pieces_of(longest)


def _pieces_of(data: bytes) -> frozenset[int]:
    """Every run of that many bytes, each as one number."""
    view, pieces = memoryview(data), set[int]()
    for start in range(_PIECE):
        end = len(data) - (len(data) - start) % _PIECE
        pieces.update(view[start:end].cast("I") if end > start else ())
    return frozenset(pieces)
