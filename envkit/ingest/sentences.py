"""Whether a sentence states what it mentions: it is no question of choice, no denial, nor another machine's case."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.pasts import cured_since, of_others
from envkit.ingest.text import Text

_REACH = 300  # characters of a sentence on either side
_REFUTED = 120  # characters on either side of hearsay
_NEAR = 36  # characters before a mention in which a denial counts
_ENDS = regex(r"[.!?;](?=[\s\"')]|$)|[。？！；]|\n\s{0,8}\n")
_CHOICE = regex(
    r"(?:^|[\s,(])(?:should I|shall I|do I (?:have|need) to|must I|can I (?:use|install|run|get)|could I"
    r"|would (?:it|that|a|an|the)|which (?:one|version|driver|CUDA)|is it (?:possible|enough|about|because)"
    r"|is (?:there|this|that) a|muss ich|soll ich|dois-je|faut-il|debo|tengo que|нужно ли|надо ли)"
    r"|^\s{0,8}or (?:just |maybe |even )?(?:an?|the|some|another|with|on|should|would|is it)\b",
    re.IGNORECASE,
)
_DENIAL = regex(
    r"\b(?:not|no|without|never|isn't|aren't|don't|doesn't|didn't|cannot|can't|neither|nor|kein\w{0,2}|nicht|ohne"
    r"|sans|sin|без|не|нет)\b(?:(?!\b(?:because|since|but|although|though|while|as (?:the|my|there|it|no)"
    r"|weil|aber|obwohl"
    r"|(?:available|detected|found|recogni[sz]ed|usable|visible|working|seen|listed|any ?more) (?:after|when|once))\b"
    r"|\b(?:available|detected|found|recogni[sz]ed|usable|visible|working) $)[^,.;:\n]){0,30}$"
    r"|(?<![\d.])0 (?:tests |errors |jobs )?$|(?:没有|不是|沒有|ない)[^,。;\n]{0,10}$",
    re.IGNORECASE,
)
_ELSEWHERE = regex(
    r"\b(?:(?:my|the|an)? ?other (?:machine|pc|computer|box|laptop|server|node|system)"
    r"|another (?:machine|pc|computer|box|laptop|server|node|person|user|team|ticket|issue|thread|report)"
    r"|(?:somebody|someone) else's"
    r"|(?:a |my )?(?:colleague|friend|coworker|team ?mate)|the author|if I (?:had|buy|bought|get)"
    r"|lying around|in (?:a|the|my) drawer|collecting dust"
    r"|thinking (?:of|about) (?:buying|getting)|planning to (?:buy|get)|used to (?:have|own|run)"
    r"|the old (?:machine|box|server|workstation|laptop|pc|computer|node)"
    r"|(?:change|feature) request|(?:people|they|one|you) (?:needed|had) (?:to|the|a|an)\b)\b",
    re.IGNORECASE,
)
_SHORT = 60  # characters on either side of a printed message that can deny it
_NAMED = r"(?: (?:the|an?|any|that|this|my|our|such|same|usual|old|infamous|famous|error|message|warning|line|issue))"
_ABSENT = regex(  # `we do not have "…"`, `this is not the … issue`; never the words of a program before its message
    r"(?:\b(?:do|does|did|has|have|had|is|are)(?:n'?t| not)(?: \w{2,10})? "
    r"(?:have|get|see|show|print|say|give|report|receive|hit|got|seen|mention|contain)(?:s|ting|ing)?"
    + _NAMED
    + r"{0,3}"
    r"|\b(?:no longer|never) (?:get|got|have|had|see|saw|seen|shows?|prints?)" + _NAMED + r"{0,3}"
    r"|\b(?:is|are|was|were|'s)(?:n'?t| not)(?: about| due to| caused by)?" + _NAMED + r"{1,3}"
    r"|\b(?:without|instead of|rather than|unlike|got rid of|gets rid of|fixe[sd]|solve[sd]|no more|no)"
    r"(?:" + _NAMED + r"{1,3}(?= [\x22'`(])| (?=[\x22'`]))"
    r"|\b(?:keine?n?|nicht(?: mehr)?)(?: den| die| das)? (?:Fehler|Meldung))[\s\x22'`:(]{1,4}$"
    r"|(?:没有|不是|不再)(?:出现|报)?[\s\x22'`“「:：]{0,3}$",
    re.IGNORECASE,
)
_GONE = regex(
    r"[^\w.\n]{0,4}(?:(?:error|message|warning|line|issue|problem|one|part|Fehler|Meldung) )?"
    r"(?:(?:that |which )?(?:I|we) (?:had|saw|got|used to (?:get|have|see))(?: \w{2,12}){0,4} )?"
    r"(?:(?:is|are|was|has|have|ist|sind|'s) )?(?:now |finally |all |already |also |jetzt |nun )?"
    r"(?:gone|solved|fixed|resolved|disappeared|vanished|went away|go(?:es)? away|weg|behoben|verschwunden"
    r"|not (?:my|the|our|an?) (?:problem|issue|case|question|error)"
    r"|(?:no longer|does(?:n'?t| not)|did(?:n'?t| not)) (?:appears?|shows?|shown|comes?|occurs?|happens?|there|printed)"
    r"|已经?解决|消失|没有了|不再出现)"
    r"(?![^.\n]{0,8}\b(?:when|if|once|only|until|unless|as long|as soon|for (?:a|some|\d)|by|with)\b)"
    r"(?![^.\n]{0,80}\b(?:until|comes? back|came back|returns?|returned|is back|again)\b)",
    re.IGNORECASE,
)
_FIXED_BY = regex(  # `"…" was fixed by installing cu128`, of which nothing says that it came back
    r"[^\w.\n]{0,4}(?:(?:error|message|warning|issue|problem) )?(?:was|were|has been|is|got) (?:now |finally |since )?"
    r"(?:fixed|solved|resolved|cured) (?:by|with|after)\b(?![^\n]{0,120}\b(?:until|comes? back|came back|again|but)\b)",
    re.IGNORECASE,
)
_OPENED = regex(r"[\x22`“][^\x22`“”\n]{0,60}$")
_CLOSED = regex(r"[^\x22`“”\n]{0,80}[\x22`”]")
_CURED = regex(
    r"(?<!not )(?<!n't )\b(?:fixed|solved|resolved|cured|removed|avoided)\b(?: \w{1,12}){0,3} $", re.IGNORECASE
)
_ASKED = regex(  # `Is my card too old?`; who asks whether anybody knows why something fails states that it does
    r"\s{0,4}(?:Is|Are|Was|Will|Would|Could|Can|Does|Do|How (?:can|do|to)|Ist|Sind|Kann"
    r"|(?:I (?:suppose|guess|assume)|Maybe|Perhaps|Probably) (?:that |it |this |there )?(?:is|are|'s|was|has))\b"
    r"(?!(?: \w{1,8})? (?:any|some)(?:one|body)|[^?]{0,60}\b(?:why|know|normal|expected|same)\b)",
    re.IGNORECASE,
)
_SUPPOSED = regex(
    r"\b(?:if (?:your|you|the user|users|somebody|someone)|whether|in case"
    r"|falls(?! (?:back|off|asleep|short|out))|wenn (?:dein|du|man)|如果)\b"
    r"[^,;\n]{0,60}$",
    re.IGNORECASE,
)
_INTENDED = regex(
    r"(?<!not )\b(?:on purpose|by design|intentionally|deliberately|needs? (?:none|no GPU))\b", re.IGNORECASE
)
_TODO = regex(r"\W{0,6}TODO\b")
_SOLVED = regex(  # `I had "…" yesterday, a reboot fixed it. Now: …`
    r"[\x22'`]?[^.\n]{0,40}[,;.] ?(?:but |and |which |that )?(?:(?:a|the) )?"
    r"(?:re(?:boot|start|install)\w{0,3}|update|upgrade) "
    r"(?:has |have )?(?:fixed|solved|cured|resolved) (?:it|that|this)\b[^\n]{0,8}[.!,] {0,2}"
    r"(?:but |and )?(?:now|next|then)\b",
    re.IGNORECASE,
)
_CLOSED_CASE = regex(  # `We rebooted and pinned it, jobs are running again. Closing.`
    r"[^\n]{0,200}?\b(?:run(?:s|ning)?|work(?:s|ed|ing)?|fine|ok|okay|good|back|solved|resolved|fixed) ?(?:again|now)?"
    r"[.!,] {0,2}(?:(?:so |I(?:'m| am) |I will |I'll |let me )?clos(?:e|ed|ing)\b|solved\b|resolved\b|thanks?\b)",
    re.IGNORECASE,
)
_ADVISED = regex(  # `For anyone who gets "…": install …`, `I read about "…"`, `the test simulates "…"`
    r"\b(?:for|if) (?:any(?:one|body)|some(?:one|body)|those|people|others)(?: \w{1,8}){0,3}? "
    r"(?:gets?|getting|sees?|seeing|hits?|hitting|ha[sd]|have|having|with|facing|encounters?|encountering)\b"
    r"[^.\n]{0,40}$|(?:如果有人|falls jemand)[^.。\n]{0,30}$"
    r"|\b(?:man (?:liest|hört)|andere (?:haben|melden|bekommen)|angeblich|on lit que|se lee que)\b[^.\n]{0,80}$"
    r"|\b(?:read|heard|reading|hearing) (?:\w{1,10} ){0,2}(?:about|of)\b[^.\n]{0,20}$"
    r"|\bI(?:'ve| have)? (?:only |just )?(?:read|heard) (?:\w{1,10} ){0,3}that\s[\x22'`]$"
    r"|\b(?:otherwise|or else),? [\x22'`]$"
    r"|\b(?:simulat(?:es?|ing)|mock(?:s|ed|ing)?|fakes?|pretends?)(?: an?| the)? [\x22'`]$",
    re.IGNORECASE,
)
_SAW = regex(r"\b(?:read|heard|saw|seen) (?:about |of )?[\x22'`“]?$", re.IGNORECASE)
_SOMEWHERE = regex(  # `I read "…" somewhere`, `I saw "…" in a blog`
    r"[\x22'`”]? {0,2}(?:somewhere|in (?:an?|some|another) (?:blog|forum|documentation|FAQ|README|thread|post|article"
    r"|guide|wiki)\b)",
    re.IGNORECASE,
)
_MEANT_TO = regex(
    r"(?:[^\n(]{0,120}\(){1,3}(?:expected (?:by|here|in)|intended|provoked|on purpose|ignored|as planned|harmless)\b",
    re.IGNORECASE,
)
_WELL = regex(  # `minimum required driver 455, found 531.29. OK`, `test_out_of_memory PASSED`
    r"(?:(?!\b(?:not|no|isn't)\b)[^\n]){0,150}(?:(?:[.:>-] {0,3}| {2})(?:OK|ok|passed)| PASS(?:ED)?)[.!)]{0,2}$",
    re.MULTILINE,
)
_EXPECTED = regex(  # `as planned: CUDA out of memory`, of code that makes it fail
    r"(?:^|[\s(\x22'])(?:as (?:planned|expected|intended)|(?:caught|expected|provoked|simulated|intentional|deliberate)"
    r"(?: the)?(?: \w{0,30}(?:error|exception|failure))?) ?[:(-] ?(?:[^.\n]|\.(?=\S)){0,40}$",
    re.IGNORECASE | re.MULTILINE,
)
_WRITTEN = regex(  # `The README says "…"`, `our FAQ has an entry "…"`
    r"\b(?:readme|docs?|documentation|manual|faq|guide|wiki|tutorial|changelog|release notes?)\b(?: of [\w ]{2,20})?"
    r" (?:says?|said|mentions?|mentioned|warns?|lists?|has an (?:entry|answer)(?: for| on| about)?|describes?)"
    r"(?: that| of| about)? {0,2}[\x22'`“]$",
    re.IGNORECASE,
)
_OLD_CODE = regex(  # `In host_defines.h of 8.0.44, the check was: "…"`: what an older release's own file says
    r"(?<![\w/\\])[\w-]{2,30}\.(?:h|hpp|cuh|py|cmake|sh)\b(?:(?!error|fehler|erreur|ошибк|[\n:]).){0,80}?"
    r"\b(?:was|used to (?:be|have|say)|was there|был[аои]?|war|stand|était|era|estaba)(?![^\W\d_])"
    r"(?:(?!error|fehler|erreur|ошибк|[\n:]).){0,30}:\s{1,6}(?:#\s{0,3}error\s{0,3}-{0,2}\s{0,3})?$",
    re.IGNORECASE,
)
_NOT_OWNED = regex(  # what is asked before a purchase is told of no machine
    r"\bI (?:have not|haven't|did not|didn't) (?:yet )?(?:bought|ordered|buy|order)\b"
    r"|\bbefore I (?:buy|order|choose a)\b|\bI (?:plan|want|intend) to buy\b",
    re.IGNORECASE,
)
_CURIOUS = regex(
    r"\b(?:just (?:curious|wondering)|out of curiosity|i (?:only |just )?(?:read|saw|heard) (?:about )?(?:it|this|that)"
    r"|(?:only|just) want(?:ed)? to (?:know|understand|learn))\b",
    re.IGNORECASE,
)
_MEANS = regex(r"^\s{0,4}(?:what (?:does|do|is|are)|was (?:bedeutet|heißt|ist))\b[^?\n]{0,120}\?", re.IGNORECASE)
_WISHED = regex(
    r"^\s{0,4}PR\b|\b(?:docs?|documentation|readme|message|wiki|FAQ) (?:should|could|might|must)\b"
    r"|\bfix(?:e[sd])? (?:an?|some|several|the) (?:\w{2,12} )?(?:issue|bug|problem|regression|race)s? "
    r"(?:where|that|in which|with|which|when|causing)\b",
    re.IGNORECASE,
)
_OF_OTHERS = regex(  # `somebody in another ticket had "Error 804" there, is this the same?`
    r"\b(?:some(?:one|body)(?: else)?|(?<!the )others|other (?:people|users)"
    r"|another (?:user|person|ticket|thread|issue))\b"
    r"[^.\n]{0,40}\b(?:ha[sd]|have|got|gets?|saw|sees?|reported|posted|mention(?:s|ed))\b[^.\n]{0,24}$",
    re.IGNORECASE,
)
_CLAUSES = regex(r"[,;!?\n(]|\.(?=\s)")
_WORKED = regex(
    r"\b(?:work(?:s|ed)|(?:was|were|is) (?:fine|ok|okay|good)|ran|used the gpu|no (?:such )?problem|helps"
    r"|it'?s (?:fine|ok)|roll(?:ed)? back|downgraded|went back)\b",
    re.IGNORECASE,
)
_NOT_SO = regex(r"\b(?:nothing|none|not|no|never|neither|hardly|nicht|kein\w?)\b|n't\b", re.IGNORECASE)
_HEARSAY = regex(
    r"\bI(?:'ve| have)? (?:read|heard)\b[^.?!\n]{0,100}$|\b(?:people|every(?:one|body)|blog posts?"
    r"|forums?|docs|they|many|some(?:one|body)?|colleagues?|the internet)\b"
    r"[^.?!\n]{0,30}\b(?:say|says|said|tell|tells|told|telling|claim|claims|claimed|write|wrote|think)\b[^.?!\n]{0,80}$",
    re.IGNORECASE,
)
_BUT_IT_DOES = regex(
    r"[^.?!\n]{0,60}[.?!,;]\s(?:but )?(?:for me,? |here,? |mine |it |in fact,? ){0,2}(?:it )?"
    r"(?:does|works|runs)\b(?! not|n't)"
    r"|(?:[^.?!\n]|\.(?=\d)){0,100}, but (?:I have neither|not here|not for me|none of (?:it|that))\b"
    r"|[^.?!\n]{0,60}[.;] (?:But )?(?:I (?:have|had|saw|see|got|can confirm) (?:none|neither|nothing)"
    r"|[Nn]one of (?:it|this|that)"
    r"|[Nn]ot (?:here|for me|on mine))\b",
    re.IGNORECASE,
)
_SINCE = regex(
    r"\b(?:before|until|prior to) (?:the|that|this|my|our) (?:\w{2,16} ){0,2}"
    r"(?:update|upgrade|fix|repair|swap|replacement|reinstall(?:ation)?|reboot)\b(?:(?!\bnow\b|\bsince\b)[^.;\n]){0,60}$"
    r"|\b(?:if (?:it|this|that|you|something|anything) ever|in case|should (?:it|you) ever)\b[^.;\n]{0,80}$",
    re.IGNORECASE,
)
_IN_CASE = regex(r"\bif (?:the|a|an|it|this|that|your|you|any)\b[^.;\n]{0,80}$", re.IGNORECASE)
_THEN_DO = regex(
    r"[^.;\n]{0,80}[,:] (?:please )?(?:see|try|run|use|check|read|consult|refer|contact|visit|follow)\b", re.IGNORECASE
)  # `if the driver fails to load, see …`: advice for a case that need not be this one
_WISH = regex(  # what a tool should do one day is no report of a failure
    r"[^\n]{0,80}?\bit (?:would|'d) be (?:\w{2,8} )?(?:nice|great|good|cool|helpful|useful) if (?:the|this|your) "
    r"(?:\w{2,14} )?"
    r"(?:installer|program|script|tool|docs?|documentation|package|project|image|app|plugin|setup|wizard) "
    r"(?:could|would|had|did|asked|printed|checked|warned|created|signed|offered|detected)\b(?! help)",
    re.IGNORECASE,
)
_SINCE_THEN = regex(
    r"\b(?:now|afterwards?|after that|since then|then|meanwhile|currently|today|jetzt|danach|seitdem|maintenant|ahora"
    r"|теперь|после этого)\b|(?:现在|之后|以后|目前|今は|現在)",
    re.IGNORECASE,
)
_FROM = regex(
    r"\b(?:old|older|previous|earlier|before|until|from|instead of) (?:the |my )?\w{0,12} ?$"
    r"|\bbefore(?:hand)?:[^.\n]{0,60}$",
    re.IGNORECASE,
)


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
    worked = _WORKED.search(clause) is not None and _NOT_SO.search(clause) is None
    return worked or _FROM.search(clause[:place]) is not None


def at_last(text: Text, start: int) -> bool:
    """Whether what stands at `start` is told of the state after a change: `afterwards torch is 2.9.0+cpu`."""
    words, place = _around(text, start, start, _ENDS)
    return _SINCE_THEN.search(words[:place]) is not None


def _of_elsewhere(text: Text, start: int, end: int) -> bool:
    """Whether it is quoted from a file of an older release, or from what somebody read."""
    first = max(start - 3 * _SHORT, 0)
    seen = _SAW.search(text.whole, first, start) and _SOMEWHERE.match(text.whole, end, end + _SHORT)
    return seen is not None or _OLD_CODE.search(text.whole, first, start) is not None


def denied(text: Text, start: int, end: int, *, of_card: bool = False) -> bool:
    """Whether the sentence says of a message at `start` to `end` that it is not there, no longer, or to be written.

    A message that is gone is no evidence; a card that is gone is what somebody asks about.
    """
    if of_others(text, start):
        return True
    if opened := _OPENED.search(text.whole, max(start - _SHORT, 0), start):
        closed = _CLOSED.match(text.whole, end, end + 2 * _SHORT)
        start, end = opened.start() + 1, closed.end() - 1 if closed else end
    if _ABSENT.search(text.whole, max(start - _SHORT, 0), start):
        return True
    if not of_card and any(each.match(text.whole, end, end + 3 * _SHORT) for each in (_GONE, _FIXED_BY)):
        return True
    if any(each.match(text.whole, end, end + 3 * _SHORT) for each in (_SOLVED, _MEANT_TO)):
        return True
    if _CLOSED_CASE.match(text.whole, end, end + 5 * _SHORT) or cured_since(text, start, end):
        return True
    if _of_elsewhere(text, start, end):
        return True
    if _TODO.match(text.line_at(start)) or _EXPECTED.search(text.whole, max(start - 2 * _SHORT, 0), start):
        return True
    words, place = _around(text, start, end, _ENDS)
    if _WISHED.search(words) or any(each.search(words[:place]) for each in (_ADVISED, _WRITTEN, _OF_OTHERS)):
        return True
    curious = _MEANS.match(words) and _CURIOUS.search(text.whole, end, end + 2 * _SHORT)
    return curious is not None


def is_well(text: Text, end: int) -> bool:
    """Whether the line of a message that ends at `end` says of what it names that it is in order."""
    return _WELL.match(text.whole, end, end + 3 * _SHORT) is not None


def _refuted(text: Text, start: int, end: int) -> bool:
    """Whether others say so, and whoever wrote the text that it is not so."""
    before = text.whole[max(start - _REFUTED, 0) : start]
    return bool(_HEARSAY.search(before) and _BUT_IT_DOES.match(text.whole, end, end + _REFUTED))


def stated(text: Text, start: int, end: int, *, of_card: bool = False) -> bool:
    """Whether what stands from `start` to `end` is told of this machine as true."""
    if denied(text, start, end, of_card=of_card) or _refuted(text, start, end):
        return False
    words, place = _around(text, start, end, _ENDS)
    if words.rstrip().endswith(("?", "？")) and _CHOICE.search(words):
        return False
    if _ELSEWHERE.search(words):
        return False
    if _SINCE.search(words[:place]):
        return False
    if _IN_CASE.search(words[:place]) and _THEN_DO.match(words[place + end - start :]):
        return False
    near = words[max(place - _NEAR, 0) : place]
    return not _DENIAL.search(near) and not _CURED.search(near)


def asserted(text: Text, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is told of this machine as a failure: neither asked nor supposed."""
    if not stated(text, start, end):
        return False
    words, place = _around(text, start, end, _ENDS)
    asked = words.rstrip().endswith(("?", "？"))
    if asked and (_ASKED.match(words) or _ASKED.match(text.line_at(start))):
        return False
    if _NOT_OWNED.search(text.whole, max(start - _REACH, 0), end + _REACH):
        return False
    if _INTENDED.search(words[place + end - start :]) or _WISH.match(text.whole, end, end + 4 * _SHORT):
        return False
    return not _SUPPOSED.search(words[:place])
