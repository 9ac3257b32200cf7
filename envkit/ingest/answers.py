"""Which command of a pasted session a line answers."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.text import Text

_CODE = r"(?=!\S|which \w|[A-Za-z][\w.:]{0,40}(?: ?= ?\S| <- \S|;?$|\()|\[[\w, ]{1,40}\] ?= ?\S)"
TYPED = r">{1,2} " + _CODE  # into MATLAB or R, whose prompts are the quote marks of mails
_OF_INTERPRETERS = (
    r"(?:julia|shell|IDL|GDL|scala|ghci|jshell|octave[\w.-]{0,12}:\d{1,5}|iex\(\d{1,5}\)"
    r"|irb\([^)\n]{1,12}\):\d{1,4}(?::\d{1,2})?)> |In\[\d{1,4}\]:= |" + TYPED
)
INTERPRETER = regex("^(?:" + _OF_INTERPRETERS + ")")
PROMPT = regex(
    r"^(?:[^\n$#]{0,80}[$#] |[^\n$#❯➜»λ>]{0,60}(?:[❯➜»λ]|╰─[>❯➤$#]) {0,2}"
    r"|(?:\([\w.-]{1,40}\) )?(?:PS )?[A-Z]:\\[^\n>]{0,80}> ?"
    r"|[a-z_][\w-]{0,31}@[\w.-]{1,60}(?::[~/][^\n>]{0,80}> | [~/][^\n%]{0,60} ?% )|[\w.-]{1,40} ~[^\n%]{0,60} ?% "
    r"|In \[\d{1,4}\]: ?|>>> |" + _OF_INTERPRETERS + r"|\([\w.-]{1,40}\) pkg> |[!%](?=[a-z]))(?=\S)"
)
_NOTE = regex(
    r"# ?(?:(?:right|yes|sure|expected|as expected|known|ok|of course)(?:[,;.]|\s{0,4}$)|[^\n]{0,100}?(?<!not )\b"
    r"(?:(?:that|this|it)(?:'s| is) (?:expected|fine|normal)|on purpose|by design|harmless"
    r"|not (?:needed|used|required|wanted|supposed to)|forgot|(?:was|am|just|only) (?:only |just )?(?:curious|trying)"
    r"|(?:I|we) (?:do not|don't|never|did not|didn't) (?:use|need|run|want)|as (?:I )?(?:said|mentioned|told|written)"
    r"|(?:my|wrong) (?:mistake|typo|env(?:ironment)?|python|shell"
    r"|terminal|folder))\b)",
    re.IGNORECASE,
)
_MEANT = regex(r"# ?[^\n]{0,100}\b(?:on purpose|by design|deliberately|intentionally)\b", re.IGNORECASE)
_COMMENTED = regex(  # a remark that points to the line above it
    r"\s{0,8}(?:={1,3}>|-{1,3}>|\^{1,3}|<={1,3}|<-{1,3}|←|↑|→)\s{0,4}[^\n]{0,160}?"
    r"\b(?:you (?:(?:may|might|will|would|can|only) )?(?:get|see)|only (?:if|when)|harmless|normal|ignored?|expected"
    r"|not (?:mine|here|on (?:my|the))|from (?:another|an?other|the other|an old)|on purpose)\b"
    r"|#{1,3} ?[^\n]{0,40}\bnot (?:installed|needed|used) here\b",
    re.IGNORECASE,
)
_REMARK = regex(
    r"\([^)\n]{0,120}\b(?:just (?:showing|to (?:see|show|test))|on purpose|as expected|provoked|deliberate(?:ly)?"
    r"|intentional(?:ly)?|harmless|normal here)\b[^)\n]{0,120}\)",
    re.IGNORECASE,
)  # a paragraph below the answer
_TRIED = regex(
    r"[%#] ?[^\n]{0,60}\b(?:just to (?:see|show|test|try|check)|on purpose|deliberately|intentionally|provokes?"
    r"|(?:must|should|has to|will) fail|expected to fail)\b",
    re.IGNORECASE,
)  # behind the code
_REMARKED = 4  # lines between an answer and a remark on it
_DOCUMENT = regex(
    r"[#$>❯] ?(?:sudo )?(?:cat|less|more|bat|head|tail|sed|e?grep|rg|ag|awk)\b[^\n]{0,200}?(?:\.(?:md|rst|adoc)\b"
    r"|\b(?:README|CHANGELOG|CHANGES|NEWS|TODO|NOTES?|notes?|faq|FAQ|motd)\b)"
    r"|[#$>❯] ?(?:history|tldr|man|gh run|git (?:log|diff|show|grep|blame))\b"
    r"|[#$>❯] ?(?:rg|ag|e?grep -[a-zA-Z]{0,4}[rR][a-zA-Z]{0,4})\b(?![^\n]{0,200}(?:/var/log|\.log\b))"
)
_FILE = regex(
    r"[#$>❯] ?(?:sudo )?(?:cat|less|more|bat|head|tail|sed|e?grep|rg|type|Get-Content)\b(?![^\n|]{0,200}(?:\.log\b"
    r"|/var/log/))"
    r"[^\n|]{0,160}?(?:[/~.][\w.]{0,20}(?:rc|profile|aliases|env|environment)\b|\.(?:sh|conf|cfg|ini|toml|ya?ml|env"
    r"|py|service|rules"
    r"|list|txt|nix|mk|cmake|bat|ps1)\b|Dockerfile|Makefile|/etc/)"
)
_COMMENT = regex(r"\s{0,12}(?:#|//|;|--|::|REM\b|<!--)")
_LONGEST = 100  # lines below a command that are looked through


def command_above(text: Text, offset: int) -> str:
    """The line with the prompt and the command whose answer holds `offset`; '' where no prompt stands above it."""
    number = command_index(text, text.index(offset))
    return text.lines[number] if number >= 0 else ""


def acknowledged(text: Text, offset: int) -> bool:
    """Whether a remark says that what stands at `offset` is as it should be.

    It is the next thing that is typed below, or stands above the command and says that it is meant.
    """
    index = text.index(offset)
    if _remarked(text, index):
        return True
    for number in range(index + 1, min(index + _LONGEST, len(text.lines))):
        if prompt := PROMPT.match(text.lines[number]):
            if _NOTE.match(text.lines[number], prompt.end()):
                return True
            break
    typed = index if PROMPT.match(text.lines[index]) else command_index(text, index)
    above = PROMPT.match(text.lines[typed - 1]) if typed > 0 else None
    return above is not None and _MEANT.match(text.lines[typed - 1], above.end()) is not None


def _remarked(text: Text, index: int) -> bool:
    """Whether a remark says so that is no command: an arrow below, a paragraph in brackets, a comment above."""
    below = text.lines[index + 1 : index + 1 + _REMARKED]
    if below and _COMMENTED.match(below[0]):
        return True
    if any(not line and _REMARK.match(after) for line, after in zip(below, below[1:], strict=False)):
        return True
    return index > 0 and _TRIED.search(text.lines[index - 1]) is not None


def command_index(text: Text, index: int) -> int:
    """The index of the line with a prompt above this one, -1 where there is none."""
    return next(
        (number for number in range(index - 1, max(index - _LONGEST, 0) - 1, -1) if PROMPT.match(text.lines[number])),
        -1,
    )


def of_a_document(text: Text, offset: int) -> bool:
    """Whether it stands in what a command shows of notes, of a manual or of sources: nothing that happened just now.

    So does a comment in a file that is shown, which says what a line of it is for.
    """
    if _DOCUMENT.search(command_above(text, offset)):
        return True
    return _COMMENT.match(text.line_at(offset)) is not None and _FILE.search(_shown_by(text, offset)) is not None


def _shown_by(text: Text, offset: int) -> str:
    """The nearest line above with a command that is no comment itself."""
    index = text.index(offset)
    for number in range(index - 1, max(index - _LONGEST, -1), -1):
        line = text.lines[number]
        if not line.strip():
            return ""
        if not _COMMENT.match(line) and PROMPT.match(line):
            return line
    return ""
