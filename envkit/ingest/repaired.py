"""Where a text says that broken hardware was replaced: only that, or weeks without an event, ends what a log told.

A title that says SOLVED, or a heading `Today:` above a machine at work, may be of another trouble, and a GPU that fell
off the bus works after a reboot until the next time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.computed import used
from envkit.ingest.later_answers import answers_of_driver
from envkit.ingest.text import Text
from envkit.ingest.trouble import fine_from, fine_since, written

HARDWARE = frozenset(
    (
        *("bar-not-assigned", "ecc-uncorrectable", "external-power-missing", "gpu-fallen-off-bus"),
        *("inforom-corrupted", "row-remap-failed", "row-remap-pending"),
    )
)
_PART = (
    r"(?:e?GPUs?|cards?|risers?|PSUs?|power suppl(?:y|ies)|cables?|connectors?|pins?|(?:main|mother|base)?boards?"
    r"|slots?|sockets?|adapters?|enclosures?|docks?|[ABHLPTV]\d{1,3}s?|[GR]TX \d{3,4}(?: Ti)?|CPUs?|unit|[Nn]etzteil"
    r"|[Gg]rafikkarte|[Kk]abel|alimentation|carte|fuente|tarjeta)"
)
_DONE = r"(?:replaced|exchanged|swapped(?: out)?|re-?seated|repaired|renewed|RMA'?e?d|getauscht|ersetzt|remplacée?)"
_REPAIRED = regex(
    rf"\b{_PART}\b[^.;?!]{{0,50}}?\b(?:was|were|is|are|has been|have been|got|wurde)\b[^.;?!]{{0,24}}?\b{_DONE}\b"
    rf"|\b{_DONE}\b[^.;?!]{{0,50}}?\b{_PART}\b|\b{_PART} (?:was |were )?{_DONE}\b"
    rf"|\b(?:put in|fitted|installed|built in|bought|got|with|replacement) (?:an? |the |my )?(?:brand[- ])?new\b"
    rf"[^.;?!]{{0,40}}?\b(?:{_PART}|W one)\b"
    rf"|\b(?:replacement|new) {_PART}\b[^.;?!]{{0,30}}?\b(?:arrived|came|is in|was put in|works|runs)\b"
    r"|(?:更换|换了|换成)[^。；？！]{0,20}(?:显卡|电源|转接|线|主板)"
)
_NOT_DONE = regex(
    r"\b(?:not|never|nobody|without|should|could|would|will|may|might|must|can|if|want\w*|plan\w*|going to|have to"
    r"|needs?|until|before|consider\w*|wait\w*|once|when|to be|needed to)\b|n't\b"
)
_SENTENCES = regex(r"(?<=[.;?!。；？！])\s?")
_OF_BEFORE = regex(r".{0,40}?\b(?:after|because of|due to)\b")  # what follows it was before the repair
_STILL = regex(
    r"\b(?:but|still|again|same|persists?|came back|comes back|returned|no change"
    r"|did(?: not|n't) (?:help|fix|change))\b"
)

_BACK = regex(
    r"\b(?:it|they|this|that|errors?|problems?|xids?)(?: is| are|'s) back\b"
    r"|\b(?:came|comes) back (?:after|again|today|with)\b"
    r"|\b(?:falls?|fell|drops?|happen\w*|crash\w*|lost) (?:\w{2,8} )?again\b|\bpersists?\b"
    r"|\bsame (?:error|problem|xid)\b"
    r"|\bstill (?:falls?|drops?|crash\w*|happens?|gets?|sees?|the same|loses?|dies|fails?)\b",
    re.IGNORECASE,
)


def repaired_from(text: Text) -> int:
    """Where a text comes to a present in which what a log told of hardware is over; -1 where it does not."""
    place = repaired(text)
    return fine_since(text) if place < 0 else max(fine_from(text), place, used(text), *answers_of_driver(text))


@kept
def repaired(text: Text) -> int:
    """The last place at which somebody says that a part was replaced, and nowhere that it changed nothing; else -1."""
    return max((line for line, _ in _lasting(text)), default=-1)


def told_until(text: Text) -> int:
    """The end of the last sentence that says that a part was replaced after or because of what it names; else -1."""
    return max((line + end for line, end in _lasting(text) if end), default=-1)


def _lasting(text: Text) -> tuple[tuple[int, int], ...]:
    return () if any(_BACK.search(line) for _, line in written(text)) else tuple(_places(text))


def _undone(sentence: str, end: int) -> bool:
    """Whether it is only planned or asked, or changed nothing."""
    return _NOT_DONE.search(sentence, 0, end) is not None or _STILL.search(sentence, end) is not None


def _places(text: Text) -> Iterator[tuple[int, int]]:
    """The line of each repair, and how far into it the sentence goes that names what was before; 0 for none."""
    title = next((index for index, line in enumerate(text.lines) if line.strip()), 0)
    lines = {title: text.lines[title] if text.lines else "", **dict(written(text))}
    for index, line in lines.items():
        start = 0
        for sentence in _SENTENCES.split(f"{line} {lines.get(index + 1, '')}"):
            match = _REPAIRED.search(sentence)
            if match and start <= len(line) and not _undone(sentence, match.end()):
                yield text.start(index), start + len(sentence) if _OF_BEFORE.match(sentence, match.end()) else 0
            start += len(sentence)
