"""What somebody means to be as it is: a machine without a GPU."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.text import Text

_NONE = r"(?:no|without|lacks?|not have|doesn't have)(?: (?:an?|any|NVIDIA|physical|real|CUDA)){0,3}"
_MEANT = r"(?:on purpose|intentional(?:ly)?|by design|deliberate(?:ly)?)"
_ABSENT = regex(
    rf"\b{_NONE} (?:GPUs?|cards?|graphics cards?)\b"
    r"|\b(?:e?GPU|card|enclosure|dock) is (?:unplugged|not plugged in|not connected|detached|disconnected|at home)\b",
    re.IGNORECASE,
)
_AND_MEANT = regex(
    rf"\b(?:{_MEANT}|(?:that|it|which)(?:'s| is) (?:expected|normal|fine|intended))\b", re.IGNORECASE
)  # behind the absence
_WITHOUT = regex(
    rf"\b(?:CPU[ -]only|GPU-less) {_MEANT}|\b{_MEANT}[^.\n]{{0,30}}\b{_NONE} GPUs?\b"
    rf"|\b(?:on|with|use) the CPU\b[^.\n]{{0,24}}\b{_MEANT}"
    r"|\b(?:login|head|submit|front-?end|control[ -]plane|management|build|compile) (?:node|host|server|machine)s?"
    rf"(?: of \w{{2,20}})?(?: (?:has|have|is|are|comes?|do|does))? {_NONE} GPUs?\b",
    re.IGNORECASE,
)
_WORDS = ("GPU", "gpu", "card", "CPU", "cpu", "nclosure", "dock")
_REACH = 80  # characters behind the absence
_ASKS = regex(
    r"\b(?:why|how (?:do|can|to|come)|what(?:'s| is| am I| could)|help me|any (?:idea|hint|help))\b", re.IGNORECASE
)


def without_gpu(text: Text) -> re.Match[str] | None:
    """Where the text says that the machine has no GPU on purpose; None where it asks for a reason all the same."""
    if _ASKS.search(text.whole):
        return None
    for match in text.matches(_ABSENT, *_WORDS):
        behind = text.whole[match.end() : match.end() + _REACH].partition("\n")[0]
        if behind.count(". ") < 2 and _AND_MEANT.search(behind):  # in this sentence, or in a short next one
            return match
    return next(iter(text.matches(_WITHOUT, *_WORDS)), None)
