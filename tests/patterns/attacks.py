"""Texts that make a regular expression as slow as it can be, made from its own parts."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

Op: TypeAlias = Any  # a code of the expression parser's, and what stands with it: its own tree has no types
Value: TypeAlias = Any
Node = tuple[Op, Value]

ops: Op
parser: Op
ops, parser = map(
    importlib.import_module,
    ("re._constants", "re._parser") if sys.version_info >= (3, 11) else ("sre_constants", "sre_parse"),
)
COMMON = 'aA0_-./ \n":,=é'
FIRST = 3  # places of an expression at which a run of one letter may begin to match it, all over again
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None))
_ATOMIC = getattr(ops, "ATOMIC_GROUP", None)
_LETTER = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)
_CLASSES: dict[Op, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
}
_NOT = {
    ops.CATEGORY_NOT_DIGIT: ops.CATEGORY_DIGIT,
    ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE,
    ops.CATEGORY_NOT_WORD: ops.CATEGORY_WORD,
}


@dataclass(frozen=True)
class Effort:
    """How many texts to make: their length, the letters of a class to try, the ends, how often a part stands.

    One run that fails at its end takes a time that grows with its square, so it is the longest; the others are shorter.
    """

    size: int
    letters: int
    tails: tuple[str, ...]
    many: tuple[int, ...]


QUICK = Effort(5_000, 2, ("\x00",), (40,))
THOROUGH = Effort(12_000, 24, ("\x00", "\n", " ~", ""), (1, 7, 40, 300))


class Attack:
    """The parts of one expression and the texts that repeat them."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._tree = parser.parse(pattern.pattern, pattern.flags)
        self._groups: dict[object, str] = {}
        self._letters = "".join(dict.fromkeys("".join(_letters(self._tree)) + COMMON))
        # A run of one letter is slow where repeats or new beginnings compete for it: only those tell letters apart.
        self._unlike = _unlike(self._letters, [*_places(self._tree)][:FIRST] + [*_repeated_places(self._tree)])

    def samples(self) -> list[str]:
        """Texts that the expression matches, if its assertions hold for them."""
        return list(dict.fromkeys(self._sample(self._tree, variant) for variant in range(12)))

    def texts(self, effort: Effort) -> Iterator[str]:
        """Each part after what leads to it: once with its repeats filled up, and many times over."""
        seen = set()
        for lead, unit in dict.fromkeys(self._parts(self._tree, "", effort.letters)):
            for text in _repeated(lead, unit, effort):
                if text not in seen:
                    seen.add(text)
                    yield text

    def _parts(self, nodes: Sequence[Node], lead: str, letters: int) -> Iterator[tuple[str, str]]:
        """What leads to each part, and what that part repeats ('' for the lead alone)."""
        for op, value in nodes:
            if op is not ops.LITERAL:
                yield lead, ""
            for body in _bodies(op, value):
                yield from self._parts(body, lead, letters)
            if op in _REPEATS:
                yield from ((lead, unit) for unit in self._units(value[2], letters))
            lead += self._sample([(op, value)], 0)
        yield lead, ""

    def _units(self, body: Sequence[Node], letters: int) -> list[str]:
        if len(body) == 1 and body[0][0] in _LETTER:
            return [letter for letter in self._unlike if _accepts(body[0], letter)][:letters]
        return list(dict.fromkeys(self._sample(body, variant) for variant in range(6)))

    def _sample(self, nodes: Sequence[Node], variant: int) -> str:
        """A text that the parts match, another one for another `variant` where they leave a choice."""
        return "".join(self._one(op, value, variant) for op, value in nodes)

    def _one(self, op: Op, value: Value, variant: int) -> str:
        if op in _REPEATS:
            least, most, body = value
            return self._sample(body, variant) * int(min(max(least, variant % 3), most))
        if op in _LETTER:
            fitting = [letter for letter in self._letters if _accepts((op, value), letter)]
            return fitting[variant % len(fitting)]
        if op is ops.GROUPREF:
            return self._groups.get(value, "")
        bodies = [] if op in (ops.ASSERT, ops.ASSERT_NOT) else _bodies(op, value)
        text = self._sample(bodies[variant % len(bodies)], variant) if bodies else ""
        if op is ops.SUBPATTERN:
            self._groups[value[0]] = text
        return text


def _repeated(lead: str, unit: str, effort: Effort) -> Iterator[str]:
    short = effort.size // 3
    if not unit:
        if lead:
            yield lead * (short // len(lead) + 1)
        return
    for tail in effort.tails:
        yield lead + unit * (effort.size // len(unit) + 1) + tail
    for many in effort.many:
        piece = lead + unit * many
        if len(piece) < short // 2:
            yield piece * (short // len(piece) + 1)


def _bodies(op: Op, value: Value) -> list[Sequence[Node]]:
    """The parts inside a part; of a branch one of them stands."""
    if op in _REPEATS:
        return [value[2]]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.BRANCH:
        return list(value[1])
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1]]
    return [value] if op is _ATOMIC else []


def _unlike(letters: str, places: Sequence[Node]) -> str:
    """The first of those letters that all places of the expression, and what bounds a word, take alike."""
    found: dict[object, str] = {}
    for letter in letters:
        word = letter.isalnum() or letter == "_"
        found.setdefault((word, letter == "\n", *(_accepts(place, letter) for place in places)), letter)
    return "".join(found.values())


def _places(nodes: Sequence[Node]) -> Iterator[Node]:
    """Each place of the expression that takes one letter."""
    for op, value in nodes:
        if op in _LETTER:
            yield op, value
        for body in _bodies(op, value):
            yield from _places(body)


def _repeated_places(nodes: Sequence[Node]) -> Iterator[Node]:
    for op, value in nodes:
        for body in _bodies(op, value):
            yield from _places(body) if op in _REPEATS else _repeated_places(body)


def _letters(nodes: Sequence[Node]) -> Iterator[str]:
    for op, value in nodes:
        for item, code in value if op is ops.IN else [(op, value)]:
            if item in (ops.LITERAL, ops.NOT_LITERAL):
                yield chr(code)
            elif item is ops.RANGE:
                yield chr(code[0])
        for body in _bodies(op, value):
            yield from _letters(body)


def _accepts(node: Node, letter: str) -> bool:
    op, value = node
    if op is ops.IN:
        return _in(tuple(value), letter)
    if op is ops.ANY:
        return letter != "\n"
    return bool((ord(letter) == value) == (op is ops.LITERAL))


@cache
def _in(items: tuple[Node, ...], letter: str) -> bool:
    return any(_holds(op, value, letter) for op, value in items) != any(op is ops.NEGATE for op, _ in items)


def _holds(op: Op, value: Value, letter: str) -> bool:
    if op is ops.LITERAL:
        return bool(ord(letter) == value)
    if op is ops.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    return op is ops.CATEGORY and _CLASSES[_NOT.get(value, value)](letter) != (value in _NOT)
