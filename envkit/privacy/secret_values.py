"""Where a value ends, and whether it is that of a secret: judged by how much its name says.

What is looked at of one value has a limit, so that the time grows with the text.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_mixed, looks_random
from envkit.privacy.secret_names import Strength, words_of

HIDDEN = "***"
Span = tuple[int, int]
# what is judged of a value; of one that is hidden the rest goes too
WORD = regex(r"(?:\\[^\n]|[^\s\\]){0,2000}")
IN_CELL = regex(r"[^|│┃║\n]{0,2000}")
IN_TAG = regex(r"[^<\n]{0,2000}")
LINE = regex(r"[^\n]{0,2000}")
QUOTES = r"\\{1,6}[\"'`]|\"{3}|'{3}|[\"'`“‘«]|\\u00(?:22|27)|&(?:quot|#34|#39|apos);|%2[27]"
CLOSERS = ")]},;\"'`*"
_OPENED = regex(
    rf"(?:[\[({{](?:\s{{0,80}}(?=[bruf]{{0,2}}[\"'])|[ \t]{{0,2}}))?(?:\$(?=')|[bruf]{{1,2}}(?=[\"']))?"
    rf"(?P<quote>{QUOTES})?"
)
_CLOSING = {"“": "”", "‘": "’", "«": "»"}
# the next part of a text that a program puts together: `"a" + "b"`, or "a" and "b" on two lines
_GOES_ON = regex(r"[ \t]{0,4}(?:\+[ \t]{0,4}|(?:\+|\\)?\n[ \t]{0,80})[bruf]{0,2}[\"'](?=[^\s\"'])")
_ECHOED = regex(r"[\"']?\$\((?:echo|printf)(?: -n)? [\"']?([^)\n$\"']{1,400})")
_MOST_PARTS = 20
_FIELD = regex(r"\\{0,6}[\"']\s{0,4}[:=](?!=)")
_ASCII = regex(r"[!-~]{0,80}")
_REST = regex(r"\S*")
_ACCOUNT = regex(r"[\w.-]{1,32}[:/](?=[^/:]{6,64}$)")  # `pass: bob/…`
_REFERENCE = regex(r"\$\{\{.*|\$\{[^}:{]*(?:\}|:?[?+].*)|\$\(.*|\$[A-Za-z_]\w*|\{\{.*|%\w+%|\*{3,}.*", re.DOTALL)
_LITERAL_REFERENCE = regex(r"\$\{?[A-Z][A-Z0-9_]*\}?")
_SAYS_NOTHING = regex(r"v?\d+(?:\.\d+)+(?:[.+-]?\w{1,12})?|\d{1,3}|0x[0-9a-fA-F]{1,8}")  # versions and counts
_PATH = regex(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/].*")
_LONGEST = 2000  # signs of a value that are looked at


def matched(pattern: re.Pattern[str], text: str, at: int) -> Span:
    """What the pattern takes from this place on; nothing where it does not match."""
    found = pattern.match(text, at)
    return found.span() if found else (at, at)


def is_field(text: str, end: int) -> bool:
    """True where what ends here is the name of a field: `"…": `."""
    return bool(_FIELD.match(text, end))


def value_at(text: str, at: int, unquoted: re.Pattern[str] = WORD) -> Span:
    """What stands in the quotes that open here, or the word without them."""
    echoed = _ECHOED.match(text, at)
    if echoed:
        return echoed.span(1)
    opened = _OPENED.match(text, at)
    quote = opened["quote"] if opened else None
    if opened is None or not quote:
        start, end = matched(unquoted, text, opened.end() if opened else at)
        return start, start + len(text[start:end].rstrip(CLOSERS)) if unquoted is WORD else end
    start = opened.end()
    closer = _CLOSING.get(quote, quote)
    line_end = matched(LINE, text, start)[1]
    end = text.find(closer, start, start + _LONGEST if len(closer) == len('"""') else line_end)
    while end > 0 and closer == '"' and text[end - 1] == "\\":
        end = text.find(closer, end + 1, line_end)
    if end < 0:
        return start, line_end
    if opened.group()[0] in "([":  # all of a list, or of a pair of name and password
        closing = text.find(")" if opened.group()[0] == "(" else "]", end, line_end)
        if closing > 0:
            return start, start + len(text[start:closing].rstrip(CLOSERS + " "))
    joined = text[end + 1 : end + 2]  # a shell puts neighbors together: 'a'"b"
    if joined and joined in "\"'" and len(closer) == 1:
        return start, matched(WORD, text, end)[1]
    return start, _last_part(text, end, closer)


def _last_part(text: str, end: int, closer: str) -> int:
    """Where the last of the parts ends that follow this one and make one text with it."""
    if closer not in ('"', "'") or is_field(text, end):
        return end
    for _ in range(_MOST_PARTS):
        following = _GOES_ON.match(text, end + 1)
        quote = text[following.end() - 1] if following else ""
        closing = text.find(quote, following.end(), matched(LINE, text, following.end())[1]) if following else -1
        if closing < 0 or is_field(text, closing):
            break
        end = closing
    return end


def secret_in(text: str, span: Span, strength: Strength, literal: bool = False) -> Span | None:
    """The span, if it is a value of a secret; `literal` where a shell takes each sign as it is."""
    value = text[span[0] : span[1]]
    lowered = value.strip(CLOSERS + "({[<>. ").lower()
    if not lowered or lowered in words_of("state") or value.startswith(HIDDEN) or _SAYS_NOTHING.fullmatch(value):
        return None
    if strength is Strength.KEY and _PATH.fullmatch(value):
        return None
    if (_LITERAL_REFERENCE if literal else _REFERENCE).fullmatch(value):
        return None
    if strength is Strength.CHOSEN:  # scripts without spaces go on behind it
        first, end = matched(_ASCII, text, span[0])
        chosen = text[first:end].strip(CLOSERS + ".")
        if looks_chosen(chosen) or looks_chosen(_ACCOUNT.sub("", chosen, count=1)):
            return first, min(end, span[1])
    core = value.strip(CLOSERS + ".").partition("&")[0]
    is_mixed = strength in (Strength.MIXED, Strength.CHOSEN) and looks_mixed(core)
    if strength < Strength.KEY and not is_mixed and not looks_random(core):
        return None
    is_cut = len(value) >= _LONGEST
    return (span[0], matched(_REST, text, span[1])[1]) if is_cut else span
