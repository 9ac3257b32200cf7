"""Whether a sentence tells of a trouble of another time or place: one that is cured since, or that others had."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.text import Text

_REACH = 300  # characters before a mention, of its own line
_BEHIND = 240  # characters behind it
_WAS_SO = regex(  # `earlier I had "…" and "…", gone with the new driver`: what is told of another time
    r"\b(?:earlier|before|previously|formerly|once|back then|at first|initially|früher|vorher|zuerst|erst|anfangs)\b"
    r"[^.\n]{0,60}"
    r"\b(?:I|we|it|this|there|ich|wir)\b[^.\n]{0,24}\b(?:had|got|saw|gave|was|were|showed|printed|hatte\w{0,2}|kam)\b"
    r"[^.\n]{0,60}$",
    re.IGNORECASE,
)
_NO_MORE = regex(
    r"[^.\n]{0,80}[,;:-] {0,2}(?:it(?:'s| is)? |that(?:'s| is)? |both |all |now |since )?"
    r"(?:is |are |was |were )?(?:all )?"
    r"(?:gone|solved|fixed|resolved|cured|never (?:since|again)|not since|no more|weg|behoben)\b(?! ?\?)",
    re.IGNORECASE,
)
_USED_TO = regex(  # `with the old driver I used to see "…"`, `a sample from the forum: "…"`
    r"\bused to (?:see|get|have|show|print|lose|fail|crash|hang|say)\b[^.\n]{0,40}$"
    r"|\b(?:you|one)(?:'d| would) (?:otherwise )?(?:get|see|hit|have|run into)\b[^.\n]{0,40}$"
    r"|\b(?:without|otherwise|else)\b[^.\n]{0,40}\byou(?:'ll| will| would| may)? (?:get|see|hit)\b[^.\n]{0,40}$"
    r"|\bnot (?:from )?(?:my|our) (?:own )?(?:box|machine|log|system|server|node|PC|case)\b[^.\n]{0,40}$"
    r"|\b(?:copied|quoted|taken|sample|example) from (?:the|a|an|another) (?:\w{2,12} )?"
    r"(?:forum|web|internet|docs?|issue|thread|blog)\b[^.\n]{0,40}$",
    re.IGNORECASE,
)
_FINE_SINCE = regex(
    r"(?:(?!\b(?:not|but|until|again|still)\b|n't\b)[^\n]){0,120}?"
    r"\b(?:fine|well|good|ok|okay|stable|quiet|clean)\b(?: (?:ever|again))? since\b(?! ?(?:\?|I |the ))",
    re.IGNORECASE,
)
_ONCE_SO = regex(
    r"(?:(?!\b(?:not|but|still)\b|n't\b)[^\n]){0,160}?\bused to \w[^\n]{0,160}?"
    r"\b(?:(?:is|are|was|were|been) (?:now )?)?(?:gone|fixed|solved|resolved)\b",
    re.IGNORECASE,
)
_REPLACED = regex(
    r"(?:(?!\b(?:not|but|still|again)\b|n't\b)[^\n]){0,60}?[,;.] {0,2}(?:then |so )?the (?:\w{2,12} ){1,2}"
    r"(?:was|were|has been|have been|got) (?:replaced|exchanged|swapped|reseated|repaired)\b"
    r"(?![^\n]{0,120}\b(?:but|still|again|same|persists?)\b)",
    re.IGNORECASE,
)
_CURED_BY = regex(  # `I had "…" before, and upgrading to torch 2.7.1 fixed it`
    r"(?:(?!\b(?:not|but|still|again|only)\b|n't\b)[^\n]){0,80}?\bbefore\b[,;.]?(?: and| until| then)? "
    r"(?:upgrading|updating|downgrading|installing|reinstalling|switching|moving|changing|replacing|setting|removing)\b"
    r"(?:(?!\b(?:not|never|but|still|again|only)\b|n't\b)[^\n]){0,80}?"
    r"\b(?:fixed|solved|cured|resolved) (?:it|that|this|the (?:problem|issue|error))\b",
    re.IGNORECASE,
)
_CURED_LATER = regex(  # `…, 卸载后重装就好了`, `… больше не появлялось`: of one line, in other languages
    r"(?:(?!怎么|如何|求助|无法解决|没能|未能|请问)[^\n]){0,120}?"
    r"(?:就好了|就行了?|就可以了|解决了?(?=[。,;!,]|\s{0,4}$)|搞定|不再(?:出现|报错)|(?:今|いま)は(?:何も)?(?:出ません|出ない|問題"
    r"|動)|解決しました|直りました)(?!吗|？|\?)"
    r"|(?:(?!\b(?:как|почему|не могу)\b|\?)[^\n]){0,120}?\b(?:больше не (?:появля\w{1,6}|повторя\w{1,6})"
    r"|исчезл[аои]|решено"
    r"|(?:это )?помогло)\b"
    r"|(?:(?!\b(?:wie|warum|aber)\b|\?)[^\n]){0,120}?\b(?:(?:seither|seitdem|danach) (?:nie mehr|nicht mehr|weg"
    r"|Ruhe)|behoben"
    r"|gelöst)\b"
    r"|(?:(?!\b(?:comment|pourquoi|mais)\b|\?)[^\n]){0,120}?\b(?:résolu|plus jamais|a disparu)\b"
    r"|(?:(?!\b(?:cómo|como (?:puedo|hago|lo|se)|por qué|pero)\b|\?)[^\n]){0,120}?"
    r"\b(?:solucionado|resuelto|ya no (?:sale|aparece|pasa)|y (?:listo|ya est[áa]|arreglado))\b",
    re.IGNORECASE,
)
_AS_HISTORY = regex(  # `History: in May …`, `What went wrong at first: …`: the line tells of the past, by its own words
    r"\W{0,6}(?:history|background|backstory|Vorgeschichte|historique|antecedentes)\b ?:(?! ?\?)"
    r"|\W{0,6}what (?:went wrong|failed|broke)(?: (?:at first|before|earlier|initially|back then|last \w{3,6}))?\b"
    r"[^:\n?]{0,60}:",
    re.IGNORECASE,
)
_NO_END = regex(
    r"\b(?:again|still|now|until|since then|today|persists?|returned|is back|comes? back|noch immer|wieder)\b|\?",
    re.IGNORECASE,
)
_WAS_THEN = regex(  # `…, that was torch 2.6 - history`, `…, the new one does not have it`
    r"(?:(?!\b(?:but|still|again)\b)[^\n]){0,80}?(?:"
    r"\bthat was (?:with |on |in |under |still )?(?:the )?[\w .+-]{2,40}?(?: ?[-,(] ?|, which is )"
    r"(?:history|long gone|the past)\b"
    r"|\b(?:does(?:n't| not)|do(?:n't| not)|no longer) (?:have|show|give|print|do|produce) (?:it|that|this)\b"
    r"(?: any ?more)?[.!])"
    r"|(?:(?!\b(?:aber|noch|wieder)\b)[^\n?]){0,60}?[.,;] (?:Mit|Nach|Seit|With|After|Since) [^.\n?]{2,60}"
    r"\b(?:weg|gone|behoben|erledigt)\b[.!]?",
    re.IGNORECASE,
)
_REACH_OF_CURE = 110  # characters before the end of a line
_RELEASE_NOTE = regex(r"\s{0,12}[-*•] (?:Fix(?:ed|es)?|Resolved|Worked around) (?:an?|some|several|the) \w")


def of_others(text: Text, start: int) -> bool:
    """Whether what stands at `start` used to be so, is quoted from another machine, or is of release notes."""
    line = text.line_at(start)
    if _RELEASE_NOTE.match(line) or (_AS_HISTORY.match(line) and _NO_END.search(line) is None):
        return True
    return _USED_TO.search(text.whole, _first(text, start), start) is not None


def is_cured(line: str) -> bool:
    """Whether a line that is not English ends well: what it tells of is of the past."""
    if line.isascii():
        return False
    return any(_CURED_LATER.match(line, start) for start in (0, max(len(line) - _REACH_OF_CURE, 0)))


def cured_since(text: Text, start: int, end: int) -> bool:
    """Whether words behind `end` say that it is over, and how: a part was replaced, all is well since."""
    behind = text.whole, end, end + _BEHIND
    if _ONCE_SO.match(*behind) or _FINE_SINCE.match(*behind):
        return True
    if not text.line_at(start).isascii() and _CURED_LATER.match(*behind):
        return True
    if _REPLACED.match(*behind) or _CURED_BY.match(*behind) or _WAS_THEN.match(*behind):
        return True
    before = _WAS_SO.search(text.whole, _first(text, start), start)
    return before is not None and _NO_MORE.match(text.whole, end, end + _BEHIND) is not None


def _first(text: Text, start: int) -> int:
    return max(text.whole.rfind("\n", 0, start) + 1, start - _REACH)
