"""Known error messages: patterns from `data/signatures.csv`, found in a text within a time that grows with its length.

A pattern is tried only near its `anchor`, a plain lower-case part of the message, and only within a window of fixed
size, so that neither many patterns nor a hostile text can make the search slow. A blank in a pattern stands for any
run of blanks, a line break, or a line break followed by the kernel log's own prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from envkit.errors import DataError
from envkit.facts import Message
from envkit.ingest.text import Text, rejoined

_BEFORE, _AFTER = 400, 800  # how far from its anchor a message may reach
_ATTEMPTS = 1500  # windows searched per signature; a text with more of one anchor repeats itself
_BLANK = r"(?:\s{1,24}|\s{0,4}\n[^\n]{0,60}?NVRM:\s{1,4})"
_SHOWN = 300
_FOLDED = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Signature:
    """One known message: its id is a check's id, or `<check id>/<variant>`.

    It does not count in a text that holds one of `unless`: another message there names the cause more exactly.
    """

    id: str
    anchor: str
    source: str = field(repr=False)
    unless: tuple[str, ...]
    example: str
    reference: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; compiled when its anchor is first met. Raises DataError for one that cannot be."""
        try:
            return re.compile(spaced(self.source), re.IGNORECASE | re.MULTILINE)
        except re.error as error:
            raise DataError(f"signatures.csv, {self.id}: {error}.") from error


@lru_cache(maxsize=1)
def signatures() -> tuple[Signature, ...]:
    """Every signature of the table."""
    import csv

    from envkit.matrix.tables import DATA, file_bytes

    table = file_bytes(f"{DATA}/signatures.csv").decode("utf-8")
    rows = csv.DictReader(table.splitlines(keepends=True))
    return tuple(
        Signature(
            row["signature"],
            row["anchor"],
            row["pattern"],
            tuple(filter(None, row["unless"].split("|"))),
            row["example"],
            row["reference"],
        )
        for row in rows
    )


def spaced(pattern: str) -> str:
    """The pattern with each single blank outside a class or a repeat standing for any run of blanks."""
    return re.sub(r" (?![?*+{])(?![^\[\]\n]*(?<!\\)\])", lambda _: _BLANK, pattern)


def messages_in(text: Text) -> tuple[Message, ...]:
    """The known messages in `text` in the order of their lines; a message that says the same twice counts once."""
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], Message] = {}
    for version in filter(None, (text, rejoined(text))):
        for message in _found(version):
            seen.setdefault((message.signature, tuple(sorted(message.values.items()))), message)
    order = {name: first for first, name in text.files}
    return tuple(sorted(seen.values(), key=lambda message: (order[message.file], message.line)))


def _found(text: Text) -> Iterator[Message]:
    whole = text.whole
    folded = whole.lower()
    if len(folded) != len(whole):  # some letters have a longer lower case: offsets must stay
        folded = whole.translate(_FOLDED)
    flat = folded.replace("\n", " ")
    for signature in signatures():
        position = flat.find(signature.anchor)
        if position >= 0 and any(words in flat for words in signature.unless):
            continue
        attempts = 0
        while position >= 0 and attempts < _ATTEMPTS:
            attempts += 1
            match = signature.pattern.search(whole, max(position - _BEFORE, 0), position + _AFTER)
            if match:
                yield _message(signature, text, match)
            next_start = max(position + len(signature.anchor), match.end() if match else 0)
            position = flat.find(signature.anchor, next_start)


def _message(signature: Signature, text: Text, match: re.Match[str]) -> Message:
    values = {name: value.strip() for name, value in match.groupdict().items() if value}
    shown = " ".join(text.line_at(match.start()).split())
    if len(shown) < 12:  # the line is only the message's start
        shown = " ".join(match.group().split())
    file, number = text.place(match.start())
    return Message(signature.id, shown[:_SHOWN], number, values, file)
