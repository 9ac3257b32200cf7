"""Known error messages: patterns from `data/signatures.csv`, found in a text within a time that grows with its length.

A pattern is tried only near its `anchor`, a plain lower-case part of the message, and only within a window of fixed
size, so that neither many patterns nor a hostile text can make the search slow. A blank in a pattern stands for any
run of blanks, a line break, or a line break followed by the kernel log's own prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from envkit._startup.regex import regex
from envkit.base.errors import DataError
from envkit.ingest.cleaning import rejoined
from envkit.ingest.sentences import stated
from envkit.ingest.text import ALIKE, Text
from envkit.model import Message
from envkit.tables.findings import Signature
from envkit.tables.loader import read

_BEFORE, _AFTER = 400, 800  # how far from its anchor a message may reach
_STEP = 400  # anchors that stand nearer to each other share a window
_SEARCHED = 2_000_000  # characters looked at per signature; a text with more of one anchor repeats itself
_BLANK = r"\s{1,24}(?:(?<=\n)[^\n]{0,60}?NVRM:\s{1,4})?"
_PART = regex(r"\\.|\[\^?(?:\\.|[^][\\]){1,200}\]| (?![?*+{])")  # an escape, a class, or a blank that stands once
_SHOWN = 300


@cache
def compiled(signature: Signature) -> re.Pattern[str]:
    """The pattern of a signature; compiled when its anchor is first met. Raises DataError for one that cannot be."""
    try:
        return re.compile(spaced(signature.pattern), re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise DataError(f"signatures.csv, {signature.signature}: {error}.") from error


def spaced(pattern: str) -> str:
    """The pattern with each single blank outside a class or a repeat standing for any run of blanks."""
    return _PART.sub(lambda part: _BLANK if part.group() == " " else part.group(), pattern)


def messages_in(text: Text) -> tuple[Message, ...]:
    """The known messages in `text` in the order of their lines; a message that says the same twice counts once."""
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], Message] = {}
    for version in filter(None, (text, rejoined(text))):
        for message in _found(version):
            seen.setdefault((message.signature, tuple(sorted(message.values.items()))), message)
    order = {name: first for first, name in text.files}
    return tuple(sorted(seen.values(), key=lambda message: (order[message.file], message.line)))


def _found(text: Text) -> Iterator[Message]:
    for signature in read(Signature):
        if not text.may_hold(signature.anchor) or signature.anchor not in text.flat:
            continue
        if not signature.counts_in(text.flat):
            continue
        for start, end in _windows(text, signature.anchor):
            for match in compiled(signature).finditer(text.whole, start, end):
                if not signature.in_own_words or stated(text, match.start(), match.end()):
                    yield _message(signature, text, match)


def _windows(text: Text, anchor: str) -> Iterator[tuple[int, int]]:
    """The parts of the text around each `anchor`; parts that overlap are one, so that none is searched twice."""
    searched, start, end = 0, 0, -1
    for place in _places(text, anchor):
        if place - _BEFORE > end >= 0:
            yield start, end
        if place - _BEFORE > end:
            start = max(place - _BEFORE, 0)
        searched += min(place + _AFTER + _STEP - end, _BEFORE + _AFTER + _STEP)
        end = place + _AFTER + _STEP
        if searched > _SEARCHED:
            break
    yield start, end


def _places(text: Text, anchor: str) -> Iterator[int]:
    """Where `anchor` stands, but once for those near to each other, and not in lines that only repeat earlier ones."""
    told, place = 0, text.flat.find(anchor)
    while place >= 0:
        index = text.index(place)
        if told > ALIKE and text.repeats[index]:
            after = text.after_repeats[index]
        else:
            yield place
            told, after = told + 1, place + _STEP
        place = text.flat.find(anchor, after)


def _message(signature: Signature, text: Text, match: re.Match[str]) -> Message:
    values = {name: value.strip() for name, value in match.groupdict().items() if value}
    shown = " ".join(text.line_at(match.start()).split())
    if len(shown) < 12:  # the line is only the message's start
        shown = " ".join(match.group().split())
    file, number = text.place(match.start())
    return Message(signature.signature, shown[:_SHOWN], number, values, file)
