"""What known reports a short text resembles that states a failure: a hint for where no message and no fact explains it.

What the hint is worth is decided with the checks, which know what else the text shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.ingest.likeness import NOTHING_WRONG, known_reports
from envkit.ingest.sentences import asserted
from envkit.ingest.text import Text
from envkit.model import READS_LIKE, Message

_LONGEST = 300  # characters of a question in somebody's own words; in longer texts likeness misled more than it helped
_LEAD = 0.8  # what the votes for a cause must lead by; tests/reports/README.md says how often it is right then
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
_NO_FAULT = regex(  # a wish, or news that it works
    r"\b(?:feature|would be nice|would like to|please (?:keep|add)|thanks?|thank you|solved"
    r"|works? (?:fine|well) (?:here|now|after)|no longer (?:gets?|sees?|ha(?:ve|s)|happens?|occurs?|appears?))\b"
    r"|一切正常|都正常|运行正常",
    re.IGNORECASE,
)


def resemblance(text: Text, complaints: Sequence[Message]) -> tuple[Message, ...]:
    """The cause of the known reports that the text resembles clearly, with the words that state the failure."""
    if len(text.whole) > _LONGEST or _NO_FAULT.search(text.whole):
        return ()
    stated = next(iter(complaints), None) or next(_troubles(text), None)
    if stated is None:
        return ()
    nearest = known_reports().nearest(text.whole)
    if nearest is None or nearest.cause == NOTHING_WRONG or nearest.lead < _LEAD:
        return ()
    values = {"cause": nearest.cause, "votes": f"{nearest.votes:.2f}", "lead": f"{nearest.lead:.2f}"}
    return (Message(READS_LIKE, stated.text, stated.line, values, stated.file),)


def _troubles(text: Text) -> Iterator[Message]:
    """Where the text says that something is not as it should be, in weaker words than those of a complaint."""
    for match in _TROUBLE.finditer(text.whole):
        if asserted(text, match.start(), match.end()):
            file, number = text.place(match.start())
            yield Message(READS_LIKE, " ".join(text.line_at(match.start()).split())[:_SHOWN], number, {}, file)
