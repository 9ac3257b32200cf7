"""Whether a sentence states what it mentions: it is no question of choice, no denial, nor another machine's case."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.text import Text

_REACH = 300  # characters of a sentence on either side
_NEAR = 36  # characters before a mention in which a denial counts
_ENDS = regex(r"[.!?;](?=[\s\"')]|$)|[。？！；]|\n\s{0,8}\n")
_CHOICE = regex(
    r"(?:^|[\s,(])(?:should I|shall I|do I (?:have|need) to|must I|can I (?:use|install|run|get)|could I"
    r"|would (?:it|that|a|an|the)|which (?:one|version|driver|CUDA)|is it (?:possible|enough|about|because)"
    r"|is (?:there|this|that) a|muss ich|soll ich|dois-je|faut-il|debo|tengo que|нужно ли|надо ли)",
    re.IGNORECASE,
)
_DENIAL = regex(
    r"\b(?:not|no|without|never|isn't|aren't|don't|doesn't|didn't|cannot|can't|neither|nor|kein\w{0,2}|nicht|ohne"
    r"|sans|sin|без|не|нет)\b[^,.;:\n]{0,30}$|(?:没有|不是|沒有|ない)[^,。;\n]{0,10}$",
    re.IGNORECASE,
)
_ELSEWHERE = regex(
    r"\b(?:(?:my|the|an)? ?other (?:machine|pc|computer|box|laptop|server|node|system)|another (?:machine|pc|c"
    r"omputer|box"
    r"|laptop|server|node|person|user|team)|(?:a |my )?(?:colleague|friend|coworker|team ?mate)|the author|if "
    r"I (?:had"
    r"|buy|bought|get)|thinking (?:of|about) (?:buying|getting)|planning to (?:buy|get)|used to (?:have|own|run)"
    r"|(?:change|feature) request)\b",
    re.IGNORECASE,
)
_CLAUSES = regex(r"[,;!?\n(]|\.(?=\s)")
_WORKED = regex(
    r"\b(?:work(?:s|ed)|(?:was|were|is) (?:fine|ok|okay|good)|ran|used the gpu|no (?:such )?problem|helps"
    r"|it'?s (?:fine|ok)|roll(?:ed)? back|downgraded|went back)\b",
    re.IGNORECASE,
)
_FROM = regex(r"\b(?:old|older|previous|earlier|before|until|from|instead of) (?:the |my )?\w{0,12} ?$", re.IGNORECASE)


def _around(text: Text, start: int, end: int, marks: re.Pattern[str]) -> tuple[str, int]:
    """What stands around `start` to `end` of the whole text between two `marks`, and where in it `start` stands."""
    first, last = max(start - _REACH, 0), min(end + _REACH, len(text.whole))
    for mark in marks.finditer(text.whole, first, start):
        first = mark.end()
    after = marks.search(text.whole, end, last)
    return text.whole[first : after.end() if after else last], start - first


def earlier(text: Text, start: int) -> bool:
    """Whether what stands at `start` is told of a state that worked: `the old tensorflow 2.10 was fine`."""
    clause, place = _around(text, start, start, _CLAUSES)
    return bool(_WORKED.search(clause) or _FROM.search(clause[:place]))


def stated(text: Text, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is told of this machine as true."""
    words, place = _around(text, start, end, _ENDS)
    if words.rstrip().endswith(("?", "？")) and _CHOICE.search(words):
        return False
    if _ELSEWHERE.search(words):
        return False
    return not _DENIAL.search(words[max(place - _NEAR, 0) : place])
