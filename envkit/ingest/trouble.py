"""Whether the prose of a text tells of trouble or asks about it: what its logs hold is meant then."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.answers import PROMPT
from envkit.ingest.asides import aside
from envkit.ingest.computed import busy, used
from envkit.ingest.pasts import is_cured
from envkit.ingest.text import Text

_TROUBLE = regex(
    r"\b(?:slow(?:er|ly|s)?|slowed|wrong|problem\w{0,6}|issues?|broken|breaks?|broke|bugs?|errors?|fail\w{0,5}"
    r"|crash\w{0,4}"
    r"|hangs?|hanging|stops?|stopped|stuck|freez\w{1,4}|froze|refus\w{1,3}|not|cannot|unable|never|no longer"
    r"|nothing|instead|missing"
    r"|help|fix(?:ed)?|solv\w{1,3}|why|reason|died|dies|dead|killed|vanish\w{0,3}|gone|lost|loses?|lose"
    r"|disappear\w{0,3}"
    r"|unusable|useless|strange|weird|odd(?:ly)?|suddenly|ignor\w{1,3}|complain\w{0,3}|warn\w{0,4}|reproduce|steps to"
    r"|expected|actual|how (?:do|can|to|should|could) [^?\n]{0,60}(?:\bgpus?|cuda|nvidia|driver|torch"
    r"|tensorflow|work|\bit|this|that)"
    r"|only (?:on )?(?:the )?cpu|(?:is|stays?|sits?|remains?|are) (?:\w{2,10} )?idle|idles|all (?:\d{1,3} )?cores"
    r"|falls? back|dropped|drops|takes (?:ages|forever|hours)|since (?:(?:the|an?|my"
    r"|this) (?:\w{2,12} )?(?:update|upgrade|reboot|change|switch|install\w{0,6}|move|night|morning|week)"
    r"|yesterday|today|last)"
    r"|after (?:the |an? |my |this )?(?:\w{2,12} )?(?:update|upgrade|reboot|restart|reinstall|change|suspend"
    r"|install))\b"
    r"|n't\b|\b(?:langsam\w{0,2}|fehler\w{0,6}|nicht|kein\w{0,2}|warum|wieso|hilfe|kaputt|seit|stürzt|hängt|plötzlich"
    r"|obwohl|leider|erreur|échec|pourquoi|lent\w?|impossible|aide|errores?|falla|lento|ayuda|ошибк\w{0,2}|не|почему"
    r"|помогите|медленно|nessun\w?|errore|perché|erro|lento|não|por que)\b"
    r"|报错|失败|无法|不能|不了|没有|为什么|怎么|很慢|太慢|错误|崩溃|卡住"
    r"|エラー|失敗|できない|遅い|なぜ|ません|오류|실패|안 ?됨",
    re.IGNORECASE,
)
_ERROR = regex(r"\b\w{0,30}(?:Error|error|ERROR)\b")
_FINE = regex(
    r"\b(?:no|without|zero|any) (?:\w{2,10} )?(?:problems?|issues?|errors?|trouble|warnings?)\b"
    r"|\bnothing (?:\w{2,10} )?(?:crash\w{0,4}|fail\w{0,3}|wrong|broken|to (?:fix|report)|else|bad|odd|strange)\b"
    r"|\b(?:anything|something|any ?one|what(?:'s| is)) (?:\w{2,10} )?(?:odd|wrong|missing|unusual|strange|weird)\?"
    r"|\b(?:don't|do not) (?:need|want|mind|care|plan)\b|\bnot (?:needed|only|bad|sure"
    r"|a problem|an issue|important|urgent)\b|\bif not\b|\bwhy not\b|\bkein(?:e|en)? (?:Problem|Fehler)\w{0,2}\b"
    r"|\b(?:brauche|benutze|nutze) (?:ich )?(?:\w{2,6} )?nicht\b|没(?:有)?(?:什么)?问题|能不能|要不要|是不是"
    r"|\b(?:as|is|are|was|were) expected\b|\bnothing (?:uses|is using|runs|needs)\b"
    r"|\b(?:security|bug) fix\w{0,2}\b|\bnot an? (?:question|problem|bug|crash|error|fault)\b"
    r"|\([^()\n]{0,120}\bignored?(?: (?:it|that|them|those|these|this))?[.!]?\)"
    r"|\b(?:GPUs?|cards?|drivers?) (?:itself )?(?:was|were|is|are) (?:never|not) (?:the|to|at|a) (?:\w{2,8} )?"
    r"(?:problem|issue|cause|reason|culprit|blame|fault|suspect)\b"
    r"|\b(?:zero|no) (?:crash(?:es)?|hangs?|freezes?|drop-?outs?|lost \w{3,8})\b"
    r"|\bhelps? (?:others|people|the next|some(?:one|body)|you all)\b"
    r"|(?:^|(?<=[.;]))[^.;(\n]{0,160}\([^()\n]{0,80}"
    r"\b(?:solved|fixed|resolved|my (?:own )?(?:script|mistake|fault|bug|code|typo))\b"
    r"[^()\n]{0,40}\)"
    r"|(?:^|(?<=[。.,,]))[^。.,,\n]{0,60}(?:可以|能|直接)(?:无视|忽略)[^。\n]{0,60}"
    r"|\bstopped (?:with|by) (?:ctrl|me|hand)\b|\bno harm\b"
    r"|nvidia-bug-report|\bbug report (?:template|form)\b|\bignore the rest\b|\bseit (?:19|20)\d\d\b"
    r"|\bohne (?:Ärger|Probleme|Fehler)\b|(?:没有?|无)(?:任何)?(?:报错|错误|异常|问题)|有没有|还没"
    r"|\b(?:cannot|can't|could not|did not|didn't) find (?:a|an|any|the) (?:\w{2,12} )?"
    r"(?:way|option|setting|button|table|list|page|answer|number|benchmark|comparison)\b"
    r"|\bwith \d{1,3}(?: \w{2,12})? (?:it|they|that) (?:drops?|gets? slower|is slower|slows down)\b"
    r"|\bwithout (?:a|any|one) (?:single )?(?:lost|dropped|skipped|missed) (?:frame|packet|step|job)s?\b"
    r"|\b(?:0|zero|no) (?:dropped|skipped|lost) frames\b"
    r"|\b(?:was|were|has been|is|are) (?:\w{2,10} )?(?:fixed|solved|resolved|expected|normal|fine|on purpose)\b"
    r"|\b(?:bug|error|mistake|crash) in (?:\w{2,10}'?s? )?(?:own )?(?:\w{2,10} )?(?:code|kernel|script|game)\b"
    r"|\b(?:crash|bug) was (?:its|his|her|their|my) own\b"
    r"|(?:^|(?<=[.,;\n(]))[^.,;\n(]{1,80}\((?:is |we |as )?(?:known?|expected|normal|harmless|by design)\)"
    r"|(?:^|(?<=[.;:(]))[^.;:(\n]{0,100}\b(?:(?:of course|natürlich|naturally|obviously)\b"
    r"|(?:that's|that is|which is) (?:how|the way|as)\b)[^.;\n]{0,60}"
    r"|(?:^|(?<=[.;:(]))[^.;:(\n]{0,100}\b(?:harmless|safe to ignore"
    r"|(?:can|may|should|could) (?:\w{1,6} )?(?:be )?(?:ignored?|silenced?))[^.;\n]{0,20}\?"
    r"|\b\d ?(?:%|percent) slower\b|\bas (?:everybody|everyone|we all|you) knows?\b"
    r"|(?:^|(?<=[.!?] ))[^.!?\n]{0,160}\b(?:fixed|solved|resolved|cured|gone) (?:by now|now|since|meanwhile|already)\b"
    r"|\b(?:failed|broke|crashed|did not|didn't|was missing|showed)\b[^\n]{0,100}?"
    r"(?:[,;.] {0,2}|\b(?:and|but) )(?:now|after|afterwards|then|later|at the end|in the end)\b[^.\n]{0,40}?"
    r"\b(?:came up|works?|worked|all (?:is )?(?:good|fine|well)|is (?:up|fine|ok|gone|solved))\b",
    re.IGNORECASE,
)
_WORKS = regex(
    r"\b(?:it|they|(?:this|that|all|both|everything)(?: of (?:it|them))?"
    r"|pods?|jobs?|training|inference|cards?|gpus?|cuda)"
    r"(?: [\w./-]{1,30}){0,3} (?:just |all |really |already )?(?:works?|runs?|is working|is running|are working)"
    r"(?: (?:fine|well|great|perfectly|ok(?:ay)?|nicely|as it should))?[.,;!)]"
    r"|\b(?:everything|all) (?:is|looks|seems) (?:fine|good|ok(?:ay)?|well|healthy)\b"
    r"|(?<!n't )(?<!not )\b(?:works?|working|runs?|running|plays?|played|ran)(?: [^.,;:?!\n]{1,60}?)?"
    r" (?:as (?:intended|expected|designed|it should)|flawlessly|perfectly|smoothly|nicely|fine|without (?:a hitch"
    r"|interruption|any \w{4,12}|problems?|issues?)|(?:at )?\d{2,3} ?fps)\b"
    r"|\b(?:all|everything) (?:is )?(?:green|good|fine)\b|\b(?:everything|it all) (?:works|runs)\b"
    r"|\b(?:card|gpu|machine|box|rig|node|pool|system|setup|run|result)s? (?:itself |themselves )?(?:is|are) "
    r"(?:fine|ok(?:ay)?|good|healthy|great|stable)\b|\bhappy (?:camper|user|customer|owner)\b|\brock[- ]solid\b"
    r"|\b(?:zero|no) (?:crash(?:es)?|drop-?outs?|complaints)\b|\b\d{2,4} days (?:of )?uptime\b"
    r"|\bnobody (?:ever )?complain(?:s|ed)\b"
    r"|\b(?:es|alles) (?:läuft|funktioniert)(?: alles)?\b"
    r"|\b(?:läuft|funktioniert|klappt) (?:alles|einwandfrei|problemlos|super|gut)\b"
    r"|\balles (?:läuft|funktioniert|in Ordnung)\b"
    r"|\btout (?:marche|fonctionne)\b|\btodo funciona\b|\btutto funziona\b|\b(?:tudo funciona|wszystko działa)\b"
    r"|\bвс[её] работает\b|一切正常|都正常|运行正常|速度正常|問題なく(?:動|使)",
    re.IGNORECASE,
)
_WORKS_NOW = regex(
    r"\b(?:works?|working|runs?|running|solved|fixed) now\b|\b(?:now|finally|at last|in the end) "
    r"(?:it |everything |all )?(?:works|runs)\b|\b(?:jetzt|nun) (?:geht|läuft|funktioniert)\b",
    re.IGNORECASE,
)
_YET_NOW = regex(
    r"\b(?:but|however|except|only|until|unless|if|when|not|never|still|slow\w{0,4})\b|n't\b|\?", re.IGNORECASE
)
_SHOWS = regex(
    r"\b(?:just|only) (?:\w{2,8} )?(?:reporting|documenting|sharing|posting|checking|wonder(?:ing)?|asking|curious)\b"
    r"|\bfor (?:the|our) (?:\w{2,14} )?(?:wiki|docs?|documentation|list|records?|report|appendix|inventory)\b"
    r"|\b(?:posted|kept|written|collected|listed|recorded) (?:here )?for (?:the |our |my |all |any)?"
    r"(?:\w{2,14} )?(?:wiki|docs?|documentation|list|records?|report|tutorial|archive|next one|reference|comparison)\b"
    r"|\bjust documenting\b|\b(?:only|just) (?:curious|interested)\b|(?:只是|仅)(?:登记|记录|分享)|不是报障"
    r"|\bnur (?:zur|als) (?:Info\w{0,7}|Doku\w{0,10}|Notiz)\b|\b(?:juste|seulement) pour (?:info|documenter)\b"
    r"|\b(?:the|my|only) question is (?:only |just )?about\b|\bas in the (?:vendor's |data ?)?sheet\b"
    r"|(?:^|(?<=[.?!:] ))(?:how (?:many|much)|which|would|will|should (?:I|we)|is it worth|is [^\n?]{2,60} worth"
    r"|does it make sense|can (?:somebody|someone|anybody|anyone) (?:compare|confirm|recommend|suggest)"
    r"|lohnt (?:sich|es)|welche[rs]?|wie ?viele?|vaut-il|quelle?|combien|vale la pena|cu[aá]ntos?)\b[^\n?]{4,200}\?"
    r"|\bany (?:hint|tip|recommendation|advice|experience|suggestion)s?\b[^\n?]{0,60}\?",
    re.IGNORECASE,
)
_PARTS = regex(r"(?<=[.!?;]) ")
_ANSWERS = regex(r"^\| NVIDIA-SMI \d|^GPU \d{1,2}: |, \d{3}\.\d{2,3}(?:\.\d{2})?(?:,|$)", re.MULTILINE)
_YET = regex(
    r"\b(?:but|however|except|until|till|apart from|other than|used to|else|before|only (?:on|with|if|when|after)|after"
    r"|no longer|not)\b(?! find)",
    re.IGNORECASE,
)
_HARD = regex(
    r"\b(?:slow\w{0,4}|wrong|broken|breaks?|broke|bugs?|errors?|fail\w{0,5}|crash\w{0,4}|hangs?|hanging|stuck"
    r"|freez\w{1,4}|froze|dies|died|dead|killed|vanish\w{0,3}|gone|lost|loses|disappear\w{0,3}|useless|unusable"
    r"|suddenly|drops?|dropped|idle|(?:only |100% )(?:on )?(?:the )?cpu"
    r"|(?:since|after) (?:(?:the|an?|my|this|that) )?(?:\w{2,12} )?(?:update|upgrade|reboot|restart|change|switch"
    r"|suspend|reinstall\w{0,3}|install\w{0,6}|move|night|weekend|yesterday|today|week)|stop\w{0,4}"
    r"|problem\w{0,2}|trouble)\b",
    re.IGNORECASE,
)  # what does not go together with a machine that works
_NOW = regex(
    r"\W{0,6}(?:(?:the )?(?:current )?(?:state|status|situation|setup|output) (?:as )?(?:of )?)?"
    r"(?:after (?:the|that|this|my) (?:\w{2,12} )?(?:fix|repair|reboot|update|upgrade|swap|change|replacement"
    r"|reinstall\w{0,6})"
    r"|today|now|these days|currently|at present|heute|jetzt|aktuell|inzwischen|maintenant|aujourd'hui|ahora"
    r"|сейчас|теперь|сегодня|现在|目前|今は|現在)\b[^.?!\n]{0,60}[:：]\s{0,4}$",
    re.IGNORECASE,
)  # a heading
_SINCE_FINE = regex(
    r"\b(?:since then|ever since|since (?:the|I|we|that|my|our|it)\b[^.;?!\n]{1,80}?|from then on|afterwards|seitdem"
    r"|seither|depuis|desde entonces|с тех пор)[,:]? (?:(?:it|that|this|everything|they|we|I) )?"
    r"(?:(?:is|are|was|has|have|had|been|runs?|ran|works?|worked|läuft|all|alles|not|never|been|tout|все|всё) ){0,3}?"
    r"(?:good|fine|ok(?:ay)?|well|stable|quiet|never again|no (?:more|further|single) \w{4,12}|zero \w{4,12}"
    r"|happened|seen|rock[- ]solid|gut|prima|problemlos|ruhe|bien|хорошо|нормально|работает)\b"
    r"|\b(?:fine|good|stable|quiet|ok|okay|well|never again|not once|no (?:more )?(?:crash|error|problem|drop)(?:es|s)?"
    r") (?:ever )?since\b(?! ?\?)|此后(?:一切)?(?:正常|稳定)|之后(?:一直|再也没有?)(?:正常|出现|出过)?",
    re.IGNORECASE,
)
_SOLVED = regex(
    r"\W{0,4}(?:\[?(?:re|tip|guide|update)\]?:? )?[\[(【]?(?:solved|fixed|gelöst|résolu|resuelto|risolto|решено"
    r"|已解决|解決済み?)\b"
    r"(?! ?\?)"
    r"|[^\n?]{4,160}? ?(?:->|=>|→|:|-) {0,3}(?:works|working|running|fine|solved|fixed|ok) now\b(?! ?\?)",
    re.IGNORECASE,
)
_GUIDE = regex(
    r"\W{0,4}(?:how ?-?to|guide|tutorial|walk-?through|anleitung|tutoriel|tutorial|教程|经验贴)\b[\])】]?:?",
    re.IGNORECASE,
)
_AGAIN = regex(r"\b(?:again|still|comes? back|came back|is back|returned|until|wieder|encore|снова)\b", re.IGNORECASE)
_SINCE = regex(
    r"\b(?:since|after|following) (?:(?:the|an?|my|our|this|that) )?(?:\w{2,12} )?(?:update|upgrade|reboot|restart"
    r"|change|switch|suspend|reinstall\w{0,3}|install\w{0,6}|move|swap)\b",
    re.IGNORECASE,
)
_WISH = regex(
    r"\bfeature request\b|\[feature\]|\blog noise\b"
    r"|\b(?:silence|suppress|mute) (?:\w{2,10} ){0,3}(?:warnings?|lines?|messages?|them|it|that|this|noise|logs?)\b"
    r"|\b(?:please|could you|can you) (?:\w{2,10} )?(?:add|hide|skip|show|mention|document)\b"
    r"|\b(?:would|'d) be (?:\w{2,8} )?(?:nice|great|good|cool|helpful|useful) to have\b"
    r"|\bdocs? (?:PR|feedback|request)\b",
    re.IGNORECASE,
)  # what a program should do one day
_MEANT_SO = regex(
    r"\b(?:on purpose|by design|deliberately|intentionally|as (?:designed|intended|planned))\b", re.IGNORECASE
)
_BUT = regex(r"\b(?:but|however|still|yet|error|errors|fail\w{0,3}|crash\w{0,3}|why|help)\b|\?", re.IGNORECASE)
_WORD = regex(
    r"[^\W\d_]{1,20}(?:['’-][^\W\d_]{1,12})?[.,;:!?)]{0,3}$|[(\x22'`*_]{1,3}[^\W\d_]{1,20}[\x22'`*_.,;:!?)]{0,4}$"
)
_WIDE = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LOG = regex(
    r"^\s{0,8}(?:\[|\((?:WW|EE|II|--|==|\*\*|\+\+|!!)\) "
    r"|test [\w:]{1,80} (?:- should panic )?\.{3} "
    r"|-- |Warning> |CMake (?:Warning|Error)|\t|[A-Z][a-zäöü]{1,2}\.? \d{1,2} [A-Z][a-zäöü]{2} \d{4} "
    r"|\([a-z]\w{0,30} \+[\dhms]{1,9}\) "
    r"|Error! |Skipping |Start of NVIDIA bug report |with a detailed description of your problem"
    r"|driver bug via the NVIDIA |or by sending email to 'linux-bugs"
    r"|\(\w{1,30}(?:,? (?:pid|ip|node_id)=[^)\n]{1,40})\) |The following tests "
    r"|[A-Z][a-z]{2} [ \d]\d [\d:]{8} |\d{2,4}[-/:.]\d\d|[EWIF]\d{4} |[A-Z]{4,8}\b[: ]|\||\+"
    r"|\S{1,60}: |time=\x22?\d"
    r"|\S{0,40}[/\\]\S|\(?\w{1,20}(?: \w{1,12}=\S{1,12}){1,3}\) |[●○×*>┌│└╭╰]|Warning |- \w{1,24}:"
    r"|\w{1,20}Error\b|\d+(?:\.\d)?[smhd]\d{0,3}\s|\S+ ago|[^:\n]{1,60}(?: : |:   )| {1,40}[\w ()/.-]{1,40}: "
    r"|\S{0,40} {2,20}\S{1,40} {3,20}\S)"
)
_FEW, _MANY = 4, 1500  # words of a sentence; lines that are looked at
_PLAIN = 0.7  # the share of words in what a person writes


def _solved(text: Text) -> int:
    """The end of a title that says so or calls the text a guide, or the result that is shown; -1 for another title."""
    index = next((number for number, line in enumerate(text.lines) if line.strip()), -1)
    if index < 0 or not (_SOLVED.match(text.lines[index]) or _GUIDE.match(text.lines[index])):
        return -1
    return max(text.start(index) + len(text.lines[index]), used(text))


def _answers(text: Text) -> bool:
    return text.has(_ANSWERS, "NVIDIA-SMI", "GPU ", ", ")


def _no_report(line: str) -> bool:
    """Whether a sentence wishes for something, or says that a thing is meant to be as it is."""
    return bool(_WISH.search(line) or (_MEANT_SO.search(line) and not _BUT.search(line)))


def troubled(text: Text, beside: Collection[str] = ()) -> bool:
    """Whether somebody says in prose that something is wrong, or asks how to fix it, apart from the lines `beside`."""
    return any(line not in beside for line in troubles(text))


@kept
def at_work(text: Text) -> bool:
    """Whether the text shows a GPU that is used, and nobody who tells of trouble."""
    return not troubled(text) and (used(text) >= 0 or busy(text))


@kept
def assured(text: Text) -> bool:
    """Whether somebody says that it works or why it is shown, of a text in which a GPU is used or a driver answers."""
    if used(text) < 0 and not busy(text) and not _answers(text):
        return False
    return any(any(map(_assures, _PARTS.split(line))) or _SHOWS.search(line) for line in prose(text))


@kept
def troubles(text: Text) -> tuple[str, ...]:
    """The lines that say so."""
    title = next(filter(str.strip, text.lines), "")
    first = (title,) if _ERROR.search(title) and not PROMPT.match(title) else ()
    hard, well = assured(text), fine_from(text)
    behind = ((text.start(index), line) for index, line in written(text))
    return (
        *(line for line in first if well < 0),
        *(line for start, line in behind if _tells(line[max(well - start, 0) :], hard)),
    )


@kept
def fine_from(text: Text) -> int:
    """Where the text comes to a present in which all is well, with the words that say so; -1 where it does not.

    What stands before is of the past then: `Since then all good`, or `Today:` above what a machine at work prints.
    """
    if used(text) < 0 and not busy(text) and not _answers(text):
        return -1
    solved = _solved(text)
    lines = assured(text) or solved >= 0
    heads = (text.start(index) for index in range(len(text.lines)) if lines and _NOW.match(text.lines[index]))
    return if_well_since(text, max((*heads, *_since(text), solved)))


@kept
def fine_since(text: Text) -> int:
    """The same where only words such as `since then all good` count, no title and no heading: -1 without them."""
    if used(text) < 0 and not busy(text) and not _answers(text):
        return -1
    return if_well_since(text, max(_since(text), default=-1))


def trouble_of(text: Text, subject: re.Pattern[str]) -> bool:
    """Whether a sentence that tells of trouble names the subject."""
    return any(
        subject.search(part) is not None and _tells(part, hard=False)
        for line in troubles(text)
        for part in _PARTS.split(line)
    )


def _since(text: Text) -> Iterator[int]:
    return (text.start(index) + match.end() for index, line in written(text) if (match := _SINCE_FINE.search(line)))


def if_well_since(text: Text, place: int) -> int:
    """The place, -1 where words behind it tell of trouble again."""
    if place < 0:
        return -1
    behind = [line[max(place - text.start(index), 0) :] for index, line in written(text)]
    return -1 if any(_tells(line, hard=True) or _AGAIN.search(line) for line in behind) else place


def _tells(line: str, hard: bool) -> bool:
    """Whether a line tells of trouble; where the text says that all is well, only what does not go with that counts."""
    if _no_report(line):
        return False
    kept = " ".join(part for part in _PARTS.split(line) if not aside(part))
    if is_cured(line):
        return False
    if hard:
        kept = _PARTS.sub("\n", kept)
        kept = "\n".join(_SINCE.sub(" ", part) if _assures(part) else part for part in kept.split("\n"))
    said = _FINE.sub(" ", kept)
    return bool(_TROUBLE.search(said)) and (not hard or _HARD.search(said) is not None)


def excused(line: str, place: int) -> bool:
    """Whether what stands at `place` of a line is among words that make it no trouble."""
    return any(start <= place < end for start, end in _no_trouble(line))


@lru_cache(maxsize=8)
def _no_trouble(line: str) -> tuple[tuple[int, int], ...]:
    """Where those words stand; many messages can be on one line."""
    return tuple(match.span() for match in _FINE.finditer(line))


def _assures(part: str) -> bool:
    if (_WORKS.search(part) and not _YET.search(part)) or _SHOWS.search(part):
        return True
    return _WORKS_NOW.search(part) is not None and _YET_NOW.search(part) is None


def prose(text: Text) -> Iterator[str]:
    """The lines that a person wrote: sentences, remarks behind a prompt, and what is not in Latin letters.

    Of what stands below a command, only the last of several paragraphs may be a person's.
    """
    for _, line in written(text):
        yield line


@kept
def written(text: Text) -> tuple[tuple[int, str], ...]:
    """The same with the indices of the lines; a remark is of the line with its command."""
    return tuple(_written(text))


def _written(text: Text) -> Iterator[tuple[int, str]]:
    last = len(text.lines)
    indices = range(last) if last <= 2 * _MANY else (*range(_MANY), *range(last - _MANY, last))
    paragraph: list[int] = []
    answered = False
    first = True  # the paragraph right below a command
    for index in indices:
        line = text.lines[index]
        if prompt := PROMPT.match(line):
            yield from () if answered and first else _sentences(text, paragraph)
            paragraph, answered, first = [], True, True
            _, mark, remark = line[prompt.end() - 1 :].partition("# ")
            if mark:
                yield index, remark
        elif line.strip():
            paragraph.append(index)
        else:
            if not answered:
                yield from _sentences(text, paragraph)
            if paragraph:
                paragraph, first = [], False
    if not (answered and first):
        yield from _sentences(text, paragraph)


def _sentences(text: Text, indices: Iterable[int]) -> Iterator[tuple[int, str]]:
    for index in indices:
        line = text.lines[index]
        if not line.isascii() and _WIDE.search(line):
            yield index, line
        elif not _LOG.match(line):
            words = line.split()
            if len(words) >= _FEW and sum(map(bool, map(_WORD.match, words))) >= _PLAIN * len(words):
                yield index, line
