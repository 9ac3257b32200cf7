"""What known reports a text resembles that states a failure: a hint for where no message and no fact explains it.

What the hint is worth is decided with the checks, which know what else the text shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.ingest.likeness import NOTHING_WRONG, Likeness, is_prose, known_reports
from envkit.ingest.sentences import asserted
from envkit.ingest.text import Text
from envkit.model import READS_LIKE, Message

_TITLE = 300  # characters in which a wish says that it is one
_LEAST, _LEAST_OF_QUESTION = 0.31, 0.45  # score of a cause; tests/reports/README.md says how often it is right then
_BEHIND = 0.1  # by how much a cause may be less like a long text than reports are in which nothing is wrong
_NEAR = 0.6  # of the best score, what the other causes that are named have at least
_MOST = 3
_SHOWN = 300
_TROUBLE = regex(  # too common in logs and tables to be a complaint there
    r"\b(?:(?:can|could|do|does|did|will|would|is|are|was|has|have)(?:n['’]?t| not)|cannot)\b"
    r"(?! (?:an?|the|my|about|because|due|only|just|sure|get|see|have|show|want|need|know|understand|think|mind)\b)"
    r"|\b(?:not (?:used|supported|enough)|no longer|unavailable|undefined symbol|unknown error|stuck|slow(?:er|ly)?"
    r"|dead|dies|broken|unsupported|conflicts?|refuses?|too old|(?:cards?|gpus?|devices?) (?:\w{1,12} ){0,5}gone)\b"
    r"|\b(?:loses?|lost|losing) (?:\w{1,12} ){0,2}(?:gpus?|cards?|devices?)\b"
    r"|\b(?:shuts?|shutting|powers?|turns?) (?:\w{1,12} ){0,2}(?:down|off)\b|\bloses? power\b|\b(?:restarts|reboots)\b"
    r"|\b(?:falls?|falling|fell) back\b|\b(?:on|uses?|using) (?:only )?(?:the |my )?cpu\b|\b(?:no|without any) gpus?\b"
    r"|\b(?:nicht|keine?n?)\b|找不到|没|不",
    re.IGNORECASE,
)
_WISH = regex(r"\bfeature[- ]request\b|\[feature\]|\bfeature:", re.IGNORECASE)  # in a title
_NO_FAULT = regex(  # a wish, or news that it works
    r"\b(?:feature|would be nice|would like to|please (?:keep|add)|thanks?|thank you|solved"
    r"|works? (?:fine|well) (?:here|now|after)|no longer (?:gets?|sees?|ha(?:ve|s)|happens?|occurs?|appears?))\b"
    r"|一切正常|都正常|运行正常",
    re.IGNORECASE,
)


def resemblance(text: Text, complaints: Sequence[Message]) -> tuple[Message, ...]:
    """The causes of the known reports that the text resembles clearly, with the words that state the failure."""
    stated = next(iter(complaints), None) or (next(_troubles(text), None) if text.is_question else None)
    if stated is None or _WISH.search(text.whole[:_TITLE]) or (text.is_question and _NO_FAULT.search(text.whole)):
        return ()
    near = _near(text)
    if not near:
        return ()
    values = {
        "cause": near[0].cause,
        "score": f"{near[0].score:.2f}",
        "others": " ".join(other.cause for other in near[1:]),
    }
    return (Message(READS_LIKE, stated.text, stated.line, values, stated.file),)


def _near(text: Text) -> list[Likeness]:
    if not is_prose(text.whole):
        return []
    least, behind = (_LEAST_OF_QUESTION, 0.0) if text.is_question else (_LEAST, _BEHIND)
    ranked = known_reports().ranked(text.whole)
    causes = [likeness for likeness in ranked if likeness.cause != NOTHING_WRONG]
    healthy = next((likeness.score for likeness in ranked if likeness.cause == NOTHING_WRONG), 0.0)
    if not causes or causes[0].score < max(least, healthy - behind):
        return []
    return [likeness for likeness in causes[:_MOST] if likeness.score >= _NEAR * causes[0].score]


def _troubles(text: Text) -> Iterator[Message]:
    """Where the text says that something is not as it should be, in weaker words than those of a complaint."""
    for match in _TROUBLE.finditer(text.whole):
        if asserted(text, match.start(), match.end()):
            file, number = text.place(match.start())
            yield Message(READS_LIKE, " ".join(text.line_at(match.start()).split())[:_SHOWN], number, {}, file)
