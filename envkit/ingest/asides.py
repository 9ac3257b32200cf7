"""What a sentence says in passing: of another part or person, of hearsay, of what it calls harmless itself."""

from __future__ import annotations

import re
from functools import lru_cache

from envkit._startup.regex import regex

_OTHER_PART = regex(
    r"\b(?:webcams?|cameras?|wi-?fi|wlan|bluetooth|printers?|scanners?|micro(?:phone)?s?|touchpads?|trackpads?"
    r"|fingerprint|keyboards?|mouse|tablets?|speakers?|headsets?|disks?|hdds?|ssds?|nvme|RAM|DIMMs?|memtest\w{0,3}"
    r"|routers?|backups?|mail|RGB|fonts?|coil whine|zigbee|ethernet|NICs?|raid|sensors?|films?|movies?|rips?"
    r"|episodes?)\b",
    re.IGNORECASE,
)
_OF_GPU = regex(
    r"\b(?:e?GPUs?|cards?|cuda|nvidia|drivers?|torch|tensorflow|xid|vram|training|inference|nvcc|grafikkarte\w?"
    r"|carte graphique|видеокарт\w{1,3}|docker|container|ffmpeg|nvenc|[rg]tx|geforce|slow|screen|games?)\b|显卡",
    re.IGNORECASE,
)
_HARMLESS = regex(
    r"\b(?:harmless|benign|cosmetic|red herrings?|just noise|log noise)\b"
    r"|\b(?:safe(?:ly)?|can|may|could|should|please|you|we|I|just|kann|können|to) (?:\w{2,8} ){0,3}"
    r"(?:be )?(?:ignored?|ignoring|ignorieren)\b"
    r"|, ignored?(?: (?:it|that|them|those|these|this))?[.)!]{0,2}$"
    r"|\b(?:nobody|no one|no-one|none of (?:the|our|my) \w{2,12}) (?:has |ever )?complain(?:s|ed)?\b"
    r"|\bnone of (?:them|these|those|it) (?:matters?|is|are|was|were)\b",
    re.IGNORECASE,
)
_HEARSAY = regex(
    r"\b(?:people|they|every(?:body|one)|some(?:body|one)?|forums?|reddit|docs?|folks|many|others)\b[^.?!\n]{0,30}"
    r"\b(?:says?|said|shout(?:s|ed)?|claim(?:s|ed)?|tells?|told|wr[io]tes?|warn(?:s|ed)?|insist(?:s|ed)?)\b",
    re.IGNORECASE,
)
_OF_READERS = regex(  # what whoever reads it may see: `you may get that with some models`
    r"\byou (?:(?:may|might|could|will|would|can|only|always) )?"
    r"(?:get|see|hit|have|need|run into) (?:it|that|this|these|them)\b"
    r"|\b(?:without|otherwise|if you)\b[^.?!\n]{0,60}\byou(?:'ll| will| would| may)? (?:get|see|hit|have)\b"
    r"|\bnot (?:mine|on (?:my|mine|the \d{3,4}))\b",
    re.IGNORECASE,
)
_ELSEWHERE = regex(
    r"\b(?:another|a different|its own|a separate|the other) (?:thread|topic|ticket|issue|story|question|post)\b"
    r"|\boff[- ]topic\b|\bnothing to do with the\b|\bnot (?:GPU|CUDA|driver)[- ]related\b"
    r"|\b(?:Intel|AMD)(?: iGPU)?(?: \w{2,12})?(?: \([^()\n]{1,20}\))? (?:is|are) what fails\b",
    re.IGNORECASE,
)
_REMARK = regex(r"\([^()\n]{0,120}\)")
_IT_DOES = regex(r"\bbut (?:it|they|mine|here it) (?:does|do|works?|runs?)\b(?! not|n't)", re.IGNORECASE)
_BUT = regex(r"\b(?:but|however|yet|though|although|still|why|aber|trotzdem|mais|pero|но)\b", re.IGNORECASE)


_PARTS = regex(r"(?<=[.!?;]) ")


def in_an_aside(line: str, place: int) -> bool:
    """Whether the sentence of a line that holds the character at `place` is one."""
    first = max((match.end() for match in _PARTS.finditer(line, 0, place)), default=0)
    behind = _PARTS.search(line, place)
    return aside(line[first : behind.start() if behind else len(line)])


@lru_cache(maxsize=8)
def aside(sentence: str) -> bool:
    """Whether trouble that a sentence names is none of the GPU here, by its own words; many messages can be in one."""
    if _ELSEWHERE.search(sentence):
        return True
    if _OTHER_PART.search(sentence) and not _OF_GPU.search(_REMARK.sub(" ", sentence)):
        return True
    if _HEARSAY.search(sentence) and _IT_DOES.search(sentence):
        return True
    if _BUT.search(sentence):
        return False
    if _OF_READERS.search(sentence):
        return True
    return _HARMLESS.search(sentence) is not None or _HEARSAY.search(sentence) is not None
