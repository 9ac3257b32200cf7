"""Known error messages: patterns from `data/signatures.csv`, found in a text within a time that grows with its length.

A pattern is tried only near its `anchor`, a plain lower-case part of the message, and only within a window of fixed
size, so that neither many patterns nor a hostile text can make the search slow. A blank in a pattern stands for any
run of blanks, a line break, or a line break followed by the prefix of the kernel's or a service's log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

from envkit._startup.regex import regex
from envkit.base.errors import DataError
from envkit.ingest.answers import acknowledged, of_a_document
from envkit.ingest.at_work import outweighed
from envkit.ingest.cleaning import rejoined
from envkit.ingest.documents import of_no_report
from envkit.ingest.ends import ended, of_an_older_boot, over
from envkit.ingest.needed import needed
from envkit.ingest.repaired import HARDWARE, repaired_from, told_until
from envkit.ingest.resolved import resolved
from envkit.ingest.sentences import asserted, denied, is_well
from envkit.ingest.text import ALIKE, Part, Text, as_one
from envkit.ingest.trouble import fine_from
from envkit.model import Message
from envkit.tables.findings import Signature
from envkit.tables.loader import read

_BEFORE, _AFTER = 400, 800  # how far from its anchor a message may reach
_STEP = 400  # anchors that stand nearer to each other share a window
_SEARCHED = 2_000_000  # characters looked at per signature; a text with more of one anchor repeats itself
_BLANK = r"\s{1,24}"
# One way to take each prefix: with two, a message of six words is tried in sixty-four ways.
_BLANK_OF_LOG = _BLANK + (r"(?:NVRM:\s{1,8}|(?<=\n)[^\n]{1,60}?(?:NVRM:|\w\[\d{1,8}\]:|\w pid=\d{1,8}\))\s{1,8})?")
_OF_LOG = regex(r"NVRM:|\w\[\d{1,8}\]: |\w pid=\d{1,8}\) ")  # the prefix of the kernel's lines, and of a service's
_PART = regex(r"\\.|\[\^?(?:\\.|[^][\\]){1,200}\]| (?![?*+{])")  # an escape, a class, or a blank that stands once
_OF_SENTENCE = regex(r"\[\^\.((?:\\n)?\??)\](?=\{)")  # a gap that ends with the sentence, which `11.5` does not
_WITH_NUMBERS = r"(?:[^.\1]|(?<=\\d)\\.(?=\\d))"
_SHOWN = 300
_KERNEL = ("NVRM: ", " kernel: ", "pcieport ")
_PROMPTS = ("$ ", "# ", "> ")  # before a command
_PROOF = "user"  # the group that shows the fault, of a message whose first line does not
_CARD = regex(r"[a-z]{1,2}\d{1,4}|\d{3,4}")  # `p40`, `1080`
_HEAD, _LEAD = 140, 20  # characters kept of a long line's start, which names the program, and before its message


@cache
def compiled(signature: Signature, *, of_log: bool = True) -> re.Pattern[str]:
    """The pattern of a signature; compiled when its words are first met. Raises DataError for one that cannot be.

    A text without a log's prefixes is searched without them: a pattern is compiled in half the time then.
    """
    try:
        return re.compile(spaced(signature.pattern, of_log=of_log), re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise DataError(f"signatures.csv, {signature.signature}: {error}.") from error


def spaced(pattern: str, *, of_log: bool = True) -> str:
    """The pattern with each single blank outside a class or a repeat standing for any run of blanks.

    The point of a number ends no sentence.
    """
    blank = _BLANK_OF_LOG if of_log else _BLANK
    text = _PART.sub(lambda part: blank if part.group() == " " else part.group(), pattern)
    return _OF_SENTENCE.sub(_WITH_NUMBERS, text)


def messages_in(text: Text) -> tuple[Message, ...]:
    """The known messages in `text` in the order of their lines; a message that says the same twice counts once."""
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], Message] = {}
    for version, parts in _versions(text):
        for message in _found(version, parts):
            seen.setdefault((message.signature, tuple(sorted(message.values.items()))), message)
    order = {name: first for first, name in text.files}
    return tuple(sorted(seen.values(), key=lambda message: (order[message.file], message.line)))


def set_aside(text: Text, found: Iterable[Message]) -> bool:
    """Whether a question contains a known message that was judged to be none: denied, over, or of somewhere else."""
    kept = {message.signature for message in found}
    return text.is_question and any(
        compiled(signature).search(text.whole) is not None
        for signature in read(Signature)
        if not signature.in_own_words and signature.signature not in kept and text.says(signature.anchor)
        if signature.counts_where(partial(_says, text))
    )


def _versions(text: Text) -> Iterator[tuple[Text, Sequence[Part]]]:
    """The text, and the one whose broken lines are put together, of which only the surroundings of these are new."""
    yield text, [(0, len(text.whole))]
    joined = rejoined(text)
    if joined is not None:  # an anchor stands near a line into which its message reaches
        lines = joined.several_in_one(text)
        yield joined, list(as_one((start - _AFTER, end + _BEFORE) for start, end in lines))


def _found(text: Text, parts: Sequence[Part]) -> Iterator[Message]:
    """The messages whose anchors stand in these parts."""
    of_log = _OF_LOG.search(text.whole) is not None
    for signature in read(Signature):
        if not text.says(signature.anchor) or not signature.counts_where(partial(_says, text)):
            continue
        around = as_one(_surroundings(text, signature.anchor, parts))
        windows = [near for near in around if _holds_needed(text, signature, *near)]
        if not windows or of_no_report(text, signature.signature):
            continue
        over_from = _over_from(text, signature)
        told: set[tuple[str | None, ...]] = set()  # what a loop says again is not judged again
        for start, end in windows:
            for match in compiled(signature, of_log=of_log).finditer(text.whole, start, end):
                if (
                    match.start() <= over_from[_of_kernel(text, match)]
                    or match.groups() in told
                    or of_an_older_boot(text, match.start())
                ):
                    continue
                place = match.start(), match.end()
                if (
                    acknowledged(text, match.start())
                    or of_a_document(text, match.start())
                    or is_well(text, match.end())
                ):
                    continue
                name = signature.signature
                if any(is_past(text, name, match.start()) for is_past in (over, outweighed, resolved)):
                    continue
                if asserted(text, *place) if signature.in_own_words else not denied(text, *place):
                    told.add(match.groups())
                    yield _message(signature, text, match)


def _over_from(text: Text, signature: Signature) -> tuple[int, int]:
    """Where what such a message tells of is over: of one that somebody quotes, and of one in the kernel's log."""
    end = ended(text, signature.signature)
    told = max(end, fine_from(text))
    if signature.signature.partition("/")[0] not in HARDWARE:
        return told, told
    return max(told, told_until(text)), max(end, repaired_from(text))


def _of_kernel(text: Text, match: re.Match[str]) -> bool:
    line = text.line_at(match.start())
    return any(word in line for word in _KERNEL)


def _says(text: Text, words: str) -> bool:
    """Whether the text says `words`; the name of a card or a number does not count within another word or number."""
    return text.says(words) and (not _CARD.fullmatch(words) or _alone(words).search(text.flat) is not None)


@cache
def _alone(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?<![a-z0-9.])|(?<=[rg]tx)|(?<=tesla)){name}(?:ti|super|nvl|xm|[smgxcdeit])?(?![a-z0-9])")


def _holds_needed(text: Text, signature: Signature, start: int, end: int) -> bool:
    """False where the pattern has no match for want of a word: most patterns need not even be compiled then."""
    find = text.flat.find
    return all(any(find(word, start, end) >= 0 for word in words) for words in needed(signature.pattern))


def _surroundings(text: Text, anchor: str, parts: Sequence[Part]) -> Iterator[Part]:
    """The parts of the text around each `anchor`; those that overlap are to be searched `as_one`."""
    searched, end = 0, -1
    for place in _places(text, anchor, parts):
        start, before = place - _BEFORE, end
        end = place + _AFTER + _STEP
        yield start, end
        searched += end - max(start, before)
        if searched > _SEARCHED:
            break


def _places(text: Text, anchor: str, parts: Sequence[Part]) -> Iterator[int]:
    """Where `anchor` stands, but once for those near to each other, and not in lines that only repeat earlier ones."""
    told = 0
    for start, end in parts:
        place = text.flat.find(anchor, start, end)
        while place >= 0:
            index = text.index(place)
            if told > ALIKE and text.repeats[index]:
                after = text.after_repeats[index]
            else:
                yield place
                told, after = told + 1, place + _STEP
            place = text.flat.find(anchor, after, end)


def _message(signature: Signature, text: Text, match: re.Match[str]) -> Message:
    values = {name: value.strip() for name, value in match.groupdict().items() if value}
    place = _telling(signature, text, match)
    shown, start = _one_line(text.line_at(place), place - text.start(text.index(place)))
    if len(shown) < 12:  # the line is only the message's start
        shown, start = " ".join(match.group().split()), 0
    file, number = text.place(place)
    return Message(signature.signature, shown[:_SHOWN], number, values, file, min(start, _SHOWN))


def _telling(signature: Signature, text: Text, match: re.Match[str]) -> int:
    """Where the message begins, or its part that proves it; where that is a command alone, the line with the anchor."""
    if _PROOF in match.groupdict():
        return match.start(_PROOF)
    if not text.line_at(match.start()).lstrip().startswith(_PROMPTS):
        return match.start()
    anchor = text.flat.find(signature.anchor, match.start(), match.end())
    return anchor if anchor >= 0 and text.index(anchor) > text.index(match.start()) else match.start()


def _one_line(line: str, start: int) -> tuple[str, int]:
    """The line with single blanks, cut so that what begins at `start` is among the characters shown, and its place."""
    before = " ".join(line[:start].split())
    begin = len(before) + 1 if before and line[start - 1 : start].isspace() else len(before)
    shown = " ".join(line.split())
    if begin + _HEAD <= _SHOWN or len(shown) <= _SHOWN:
        return shown, begin
    return f"{shown[:_HEAD]}…{shown[begin - _LEAD :]}", _HEAD + 1 + _LEAD
