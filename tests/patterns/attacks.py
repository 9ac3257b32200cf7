"""Texts that make a regular expression as slow as it can be, made from its own parts."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

ops: Any
parser: Any
ops, parser = map(
    importlib.import_module,
    ("re._constants", "re._parser") if sys.version_info >= (3, 11) else ("sre_constants", "sre_parse"),
)

COMMON = 'aA0_-./ \n":,=é'
TAILS = ("\x00", "\n", " ~", "")
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None))
_ATOMIC = getattr(ops, "ATOMIC_GROUP", None)
_MANY = (1, 7, 40, 300)
Node = tuple[Any, Any]
_CLASSES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
}
_NOT = {
    ops.CATEGORY_NOT_DIGIT: ops.CATEGORY_DIGIT,
    ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE,
    ops.CATEGORY_NOT_WORD: ops.CATEGORY_WORD,
}


class Attack:
    """The parts of one expression and the texts that repeat them."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._tree = parser.parse(pattern.pattern, pattern.flags)
        self._groups: dict[object, str] = {}
        self._letters = "".join(dict.fromkeys("".join(_letters(self._tree)) + COMMON))

    def samples(self) -> list[str]:
        """Texts that the expression matches, if its assertions hold for them."""
        return list(dict.fromkeys(self._sample(list(self._tree), variant) for variant in range(12)))

    def texts(self, size: int) -> Iterator[str]:
        """Texts of about `size` characters."""
        seen = set()
        for lead, unit in dict.fromkeys(self._parts(list(self._tree), "")):
            for text in _repeated(lead, unit, size):
                if text not in seen:
                    seen.add(text)
                    yield text

    def _parts(self, nodes: Sequence[Node], lead: str) -> Iterator[tuple[str, str]]:
        """What leads to each part, and what that part repeats ('' for the lead alone)."""
        for op, value in nodes:
            yield lead, ""
            for body in _bodies(op, value):
                yield from self._parts(list(body), lead)
            if op in _REPEATS:
                yield from ((lead, unit) for unit in self._units(list(value[2])))
            lead += self._sample([(op, value)], 0)
        yield lead, ""

    def _units(self, body: Sequence[Node]) -> list[str]:
        if len(body) == 1 and body[0][0] in (ops.IN, ops.ANY, ops.LITERAL, ops.NOT_LITERAL):
            return [letter for letter in self._letters if _accepts(body[0], letter)][:24]
        return list(dict.fromkeys(self._sample(body, variant) for variant in range(6)))

    def _sample(self, nodes: Sequence[Node], variant: int) -> str:
        """A text that the parts match, another one for another `variant` where they leave a choice."""
        return "".join(self._one(op, value, variant) for op, value in nodes)

    def _one(self, op: Any, value: Any, variant: int) -> str:  # noqa: ANN401 - the parser's own tree
        if op in _REPEATS:
            least, most, body = value
            return self._sample(list(body), variant) * int(min(max(least, variant % 3), most))
        if op is ops.BRANCH:
            return self._sample(list(value[1][variant % len(value[1])]), variant)
        if op is ops.SUBPATTERN:
            text = self._sample(list(value[3]), variant)
            self._groups[value[0]] = text
            return text
        if op is _ATOMIC:
            return self._sample(list(value), variant)
        if op is ops.GROUPREF:
            return str(self._groups.get(value, ""))
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY):
            fitting = [letter for letter in self._letters if _accepts((op, value), letter)] or [_first(op, value)]
            return fitting[variant % len(fitting)]
        return ""  # a position or an assertion


def _first(op: Any, value: Any) -> str:  # noqa: ANN401
    return (
        chr(value) if op is ops.LITERAL else next(filter(lambda c: _accepts((op, value), c), map(chr, range(0x3000))))
    )


def _repeated(lead: str, unit: str, size: int) -> Iterator[str]:
    if not unit:
        if lead:
            yield lead * (size // len(lead) + 1)
        return
    long = unit * (size // len(unit) + 1)
    for tail in TAILS:
        yield lead + long + tail
    for many in _MANY:
        piece = lead + unit * many
        if len(piece) < size // 2:
            yield piece * (size // len(piece) + 1)


def _bodies(op: Any, value: Any) -> list[Any]:  # noqa: ANN401
    if op in _REPEATS:
        return [value[2]]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.BRANCH:
        return list(value[1])
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1]]
    return [value] if op is _ATOMIC else []


def _letters(tree: Any) -> Iterator[str]:  # noqa: ANN401
    for op, value in tree:
        if op in (ops.LITERAL, ops.NOT_LITERAL):
            yield chr(value)
        elif op is ops.IN:
            yield from (
                chr(item[1]) if item[0] is ops.LITERAL else chr(item[1][0])
                for item in value
                if item[0] in (ops.LITERAL, ops.RANGE)
            )
        for body in _bodies(op, value):
            yield from _letters(body)


@cache
def _in(items: tuple[Any, ...], letter: str) -> bool:
    negated, found = False, False
    for op, value in items:
        if op is ops.NEGATE:
            negated = True
        elif op is ops.LITERAL:
            found = found or ord(letter) == value
        elif op is ops.RANGE:
            found = found or value[0] <= ord(letter) <= value[1]
        elif op is ops.CATEGORY:
            kind = _NOT.get(value, value)
            found = found or (_CLASSES[kind](letter) != (value in _NOT))
    return found != negated


def _accepts(node: Node, letter: str) -> bool:
    op, value = node
    if op is ops.IN:
        return _in(tuple(value), letter)
    if op is ops.ANY:
        return letter != "\n"
    return bool((ord(letter) == value) == (op is ops.LITERAL))
