"""What somebody means to be as it is, or knows the reason of: a machine without a GPU, memory that others use."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.base.kept import kept
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
    rf"|\b(?:on|with|use|using) (?:the )?CPU\b(?: only)?[^.\n]{{0,24}}\b{_MEANT}"
    r"|\b(?:login|head|submit|front-?end|control[ -]plane|management|build|compile) (?:node|host|server|machine)s?"
    rf"(?: of \w{{2,20}})?(?: (?:has|have|is|are|comes?|do|does))? {_NONE} GPUs?\b",
    re.IGNORECASE,
)
_BOX = r"(?:workstation|machine|PC|computer|server|laptop|notebook|box|node|VM|host|desktop)"
_CARD = r"(?:GPUs?|(?:graphics |video )?cards?)"
_NO_CARD = regex(  # of the machine itself, not what a program says of it
    rf"\b{_NONE} {_CARD} (?:in|inside) (?:this|that|the|my|our) {_BOX}\b(?! (?:is|was|can|could|are|were)\b)"
    rf"|\b(?:this|that|the|my|our) {_BOX} (?:just |simply )?(?:has|comes|does|is) {_NONE} {_CARD}\b"
    rf"|\b(?:I|we) (?:have|own) no (?:NVIDIA )?{_CARD}\b"
    rf"|\b(?:I|we) do(?: not|n't) (?:have|own) (?:an?|any) (?:NVIDIA )?{_CARD}\b",
    re.IGNORECASE,
)
_CPU_WANTED = regex(  # behind it
    r"\b(?:should|shall|must|has to|have to|want(?:ed)?|would like|intend(?:ed)?|plan|meant)\b[^.\n]{0,30}\bCPU\b"
    r"|\b(?:fine|happy|ok|okay) with (?:slow|the CPU|CPU)\b"
    r"|\bCPU\b[^.\n]{0,16}\b(?:is|are|would be) (?:fine|enough|ok|okay|good enough|intended|all I)\b",
    re.IGNORECASE,
)
_WITHOUT_ELSEWHERE = regex(  # the same in other languages, of nodes from which jobs start
    r"\b(?:nodo (?:de acceso|login|de entrada|di accesso)|(?:n\u0153ud|noeud) (?:de connexion|frontal)"
    r"|[Ll]ogin-?(?:[Kk]noten|[Nn]ode|[Nn]odes)|nó de login)[^.\n]{0,30}?"
    r"\b(?:no tien\w{1,3}|non ha\w{0,3}|n'a(?: pas de| aucun)?|sans|ha(?:t|ben) kein\w{0,2}|ohne|não tem|sin|senza)"
    r"(?: \w{2,8})? GPUs?\b|登录节点[^。\n]{0,10}(?:没有|无) ?(?:GPU|显卡)"
)
_IN_A_JOB = regex(  # what fails on a node that has a GPU
    r"\b(?:in|inside|on|within) (?:the|a|my|our|each) (?:job|batch job|GPU nodes?|compute nodes?)\b[^\n]{0,120}?"
    r"\b(?:False|no GPU|fails?|not (?:available|found|used)|(?:on|uses) the CPU)\b",
    re.IGNORECASE,
)
_WORDS = ("GPU", "gpu", "card", "CPU", "cpu", "nclosure", "dock", "显卡")
_REACH = 80  # characters behind the absence
_ASKS = regex(
    r"\b(?:why|how (?:do (?:i|we|you (?:fix|solve|get|make))|can|to|come)"
    r"|what(?:'s| is| am I| could)|help me|any (?:idea|hint|help))\b",
    re.IGNORECASE,
)


@kept
def asks_for_help(text: Text) -> bool:
    """Whether the text asks for a reason or for help: what it shows is no machine in order then."""
    return _ASKS.search(text.brief) is not None


def asks_below(text: Text, line: str) -> bool:
    """Whether the text does so below the first place of a line."""
    return _ASKS.search(text.brief, max(text.brief.find(line), 0) + len(line)) is not None


def without_gpu(text: Text) -> re.Match[str] | None:
    """Where the text says that the machine has no GPU on purpose; None where it asks for a reason all the same."""
    if asks_for_help(text) or _IN_A_JOB.search(text.brief):
        return None
    if told := _with_reason(text, _ABSENT, _AND_MEANT):
        return told
    for pattern in (_WITHOUT, _WITHOUT_ELSEWHERE):
        if told := next(iter(text.matches(pattern, *_WORDS)), None):
            return told
    return None


def _with_reason(text: Text, absent: re.Pattern[str], meant: re.Pattern[str]) -> re.Match[str] | None:
    """Where the text says that the GPU is absent, and in this sentence or in a short next one that it is meant."""
    for match in text.matches(absent, *_WORDS):
        behind = text.whole[match.end() : match.end() + _REACH].partition("\n")[0]
        if behind.count(". ") < 2 and meant.search(behind):
            return match
    return None


@kept
def for_cpu(text: Text) -> bool:
    """Whether the owner says that the machine has no card, and wants the CPU: what finds no GPU is no trouble there."""
    return _with_reason(text, _NO_CARD, _CPU_WANTED) is not None


_AMOUNT = r"(?:\d[\d.,]{0,6} ?(?:[GM]i?B|gigs?)\b|memory\b|VRAM\b)"
_KNOWN_USER = regex(
    rf"\b(?:the|those|these|its?|this|that) (?:\w{{2,12}} ){{0,2}}(?:other )?{_AMOUNT}[^.\n]{{0,30}}"
    r"(?:\b(?:is|are|belongs? to|comes? from|goes to)|'s) [^.\n]{0,40}?\b(?:notebook|kernel|container|pod|jobs?"
    r"|server|process(?:es)?"
    r"|model|session|desktop|colleagues?|tenants?|users?|neighbou?rs?|ollama|vllm|comfyui|host)\b"
    r"|\b(?:do|can|will|does|could)(?: not|n'?t) (?:see|show|list) (?:the )?(?:other (?:users|containers|pods"
    r"|tenants)'? )?process(?:es)?"
    r"(?: (?:of|in|from) other| outside)|\bprocess(?:es)? (?:of|in|from) other[^.\n]{0,40}\b(?:not|hidden|invisible)\b"
    r"|\btime-slic(?:ed|ing)\b|\bhidepid=(?:[124]|invisible|noaccess)\b",
    re.IGNORECASE,
)
_NOBODYS = regex(
    r"\b(?:zombies?|defunct|orphan(?:ed)?|dead|killed|kill -9|crash(?:ed)?|leak(?:ed|s)?|never (?:freed|released)"
    r"|still (?:held|used|in use)"
    r"|nobody|no longer|gone|out of memory)\b",
    re.IGNORECASE,
)


def processes_hidden(text: Text) -> bool:
    """Whether the text says whose memory is in use although no process is listed, and calls nobody dead."""
    told = next(text.matches(_KNOWN_USER, "B", "emory", "VRAM", "rocess", "slic", "hidepid", "gig"), None)
    return told is not None and not (_NOBODYS.search(text.whole) or asks_for_help(text))
