"""Hides what stands behind the name of a secret: assigned, quoted, in a table, as an argument, or on the next lines.

Each name is looked at once, and what follows it within limits, so that the time grows with the text.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_random
from envkit.privacy.secret_names import Strength, is_variable, judged, names, words_of

HIDDEN = "***"
Span = tuple[int, int]
_QUOTES = r"\\{1,6}[\"'`]|\"{3}|'{3}|[\"'`“‘«]|\\u00(?:22|27)|&(?:quot|#34|#39|apos);|%2[27]"
# what stands between a name and its separator: ends of quotes, brackets and emphasis
_CLOSED = regex(r"(?:\\{0,6}[\"'`\])*”’»]|\\u00(?:22|27)|&(?:quot|#34|#39|apos);|%2[27]){0,4}")
_ASSIGN = regex(r"[ \t]{0,40}(?P<sign>:=|=>|->|={1,3}|[:：＝]|%3[AaDd])(?:\*\*(?=[ \t]))?[ \t\u3000]{0,40}")
_ATTRIBUTE = regex(
    r"\s{0,4},?\s{0,40}\\{0,6}[\"']?[Vv]alue\\{0,6}[\"']?\s{0,4}[:=]\s{0,4}"
    r"|</\w{1,20}>\s{0,80}<(?:value|string)>|[^<>\n]{0,80}>(?=[^<>\s][^<>\n]{0,2000}</)"  # of XML
    r"|\s{0,4}\{[^{}]{0,300}?\bdefault\s{0,10}=\s{0,4}"  # of Terraform
    r"|[ \t]{1,40}REG_(?:EXPAND_)?SZ[ \t]{1,40}"  # of Windows
    r"|[ \t]by[ \t]\w{1,20}\([ \t]?(?=[\"'])"  # of Kotlin
)
_TYPED = regex(r"(?:&?'?[\w.<>\[\], |?]{1,60}?)[ \t]{1,4}=[ \t]{1,4}(?=[bruf]?[\"'])")  # `token: str = "…"`
_MADE = regex(r"lambda\b[^:\n]{0,40}:[ \t]{0,4}")  # a function that gives it
_YAML_TAG = regex(r"!{1,2}[\w./:-]{1,60}[ \t]{1,4}(?![|>])")
_CELL = regex(r"[ \t]{0,80}[|│┃║][ \t]{0,80}")
_ARGUMENT = regex(r",\s{0,20}(?=[bruf]?[\"'])")
_NEXT_CELL = regex(r"[ \t]*(?:$|[\t\n\r,|])")  # what follows a cell of a table without lines
_FIELD = regex(r"\\{0,6}[\"']\s{0,4}[:=]")
_NAME = regex(r"\$?[A-Z][A-Z0-9_]*")  # of another variable
_IS = "is|was|ist|war|lautet|est|était|es|era|é|è|jest|är"
_STATED = regex(
    rf"[ \t]{{1,40}}(?:\(|(?:(?:{_IS}|provided|given|(?P<whose>for|of)|used)(?:[ \t]user)?:?[ \t]{{1,3}}"
    rf"(?:(?:[^\s:']{{1,64}}|'[^'\n]{{1,120}}')(?P<told>:|[ \t]{{1,3}}(?:{_IS}):?)[ \t]{{1,3}})?"
    r"|(?:provided|given|used|rejected):[ \t]{1,3})?)|[是为為は는은][ \t\u3000]{0,3}"
)
_TAG = regex(r"(?:\s[^<>\n]{0,200})?>(?:<!\[CDATA\[)?")
_SPACE = regex(r"[ \t]{1,40}|\x00(?=[^\x00-])|\r?\n[ \t]{0,40}- (?!-)")  # the last two: of words of a command
_KIND = regex(r"\d[ \t](?=[^\s\d])")  # how a router's password is written
_OF_COMMAND = regex(r"\b(?:[Uu]sing|with|[Yy]our|invalid|bad|set|auth)[ \t]$")
_OPENED = regex(rf"(?:[\[({{][ \t]{{0,2}})?(?:\$(?=')|[bruf]{{1,2}}(?=[\"']))?(?P<quote>{_QUOTES})?")
# what is judged of a value; of one that is hidden the rest goes too
_WORD = regex(r"(?:\\[^\n]|[^\s\\]){0,2000}")
_IN_CELL = regex(r"[^|│┃║\n]{0,2000}")
_IN_TAG = regex(r"[^<\n]{0,2000}")
_LINE = regex(r"[^\n]{0,2000}")
_PARTNER = regex(r"[ \t]{1,3}/[ \t]{1,3}[^\s/]{1,200}")  # `credentials: name / password`
_ASCII = regex(r"[!-~]{0,80}")
_REST = regex(r"\S*")
_PLACE = regex(r"line \d{1,7}\b")  # behind the name of a file that is called like a secret: /etc/passwd
_BLOCK = regex(r"(?:![\w-]{1,40}[ \t]{1,4})?[|>][+-]?\d?[+-]?[ \t]*(?=\n)|(?=\n)")
_SETS = regex(
    r"(?:\b(?:setenv|setx|ENV|ARG|export|putenv|set(?:[_-]env)?(?: -\w{1,4}){1,3}|%?set_env"
    r"|(?:config(?:ure)?|variables?|secrets?|env)(?: --?\w{1,20}){0,2}"
    r"(?:[ :](?:set|add|create))?(?: --?\w{1,20}){0,2}))"
    r"[ \t]{1,4}$"
)
_SETTER = regex(
    r"(?:putenv|setenv|setdefault|set_?env|set_?var|add_?env|setProperty|setItem|define|put_env"
    r"|SetEnvironmentVariable)\([ \t]{0,4}[\"']$",
    re.IGNORECASE,
)
_VALUE_FIRST = regex(
    r"[\"']?[Vv]alue[\"']?\s{0,4}:\s{0,4}[\"']?([^\"'\s]{1,400}|(?<=[\"'])[^\"'\n]{1,400})[\"']?(?:\s{0,4},|\s)\s{0,40}"
    r"[\"']?(?:[Nn]ame|[Kk]ey)[\"']?\s{0,4}:\s{0,4}[\"']?$"
)
_REFERENCE = regex(r"\$\{\{.*|\$\{[^}:{]*(?:\}|:?[?+].*)|\$\(.*|\$[A-Za-z_]\w*|\{\{.*|%\w+%|\*{3,}.*", re.DOTALL)
_LITERAL_REFERENCE = regex(r"\$\{?[A-Z][A-Z0-9_]*\}?")
_SAYS_NOTHING = regex(r"v?\d+(?:\.\d+)+(?:[.+-]?\w{1,12})?|\d{1,3}|0x[0-9a-fA-F]{1,8}")  # versions and counts
_PATH = regex(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/].*")
_PLURALS = ("SECRETS", "PASSWORDS", "TOKENS")
_OF_BUILDS = ("id=", "type=", "source=", "src=")  # --secret of `docker build` says where a secret is
_CLOSERS = ")]},;\"'`*"
_CLOSING = {"“": "”", "‘": "’", "«": "»"}
_LONGEST = 2000  # signs of a value that are looked at
_BACK = 480
_MOST_WORDS = 4  # of a line of recovery codes
_MOST_REPEATED = 32  # values that are looked for in the rest of the text


def without_named(text: str, lowered: str) -> str:
    """The text with the values of names of secrets hidden, wherever else they stand in it too."""
    spans: list[Span] = []
    done = 0
    for start, end, strength in sorted(names(text, lowered)):
        found = _value_of(text, start, end, strength) if start >= done else None
        if found:
            spans.append(found)
            done = found[1]
    if not spans:
        return text
    repeated = {text[start:end] for start, end in spans[:_MOST_REPEATED] if looks_random(text[start:end])}
    shown = _hidden(text, spans)
    for value in repeated:
        shown = shown.replace(value, HIDDEN)
    return shown


def _hidden(text: str, spans: list[Span]) -> str:
    starts, ends = [len(text)], [0]
    for start, end in spans:
        starts.insert(-1, max(start, ends[-1]))
        ends.append(max(end, ends[-1]))
    return HIDDEN.join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _value_of(text: str, start: int, end: int, strength: Strength) -> Span | None:
    """The value that belongs to the name between `start` and `end`."""
    before = text[start - 1 : start]
    tag = _TAG.match(text, end) if before == "<" else None
    if tag:
        return _judged(text, _match(_IN_TAG, text, tag.end()), strength)
    closed = _match(_CLOSED, text, end)[1]
    if text[closed : closed + 1] == "}" and text[start - 1 : start] == "{" and text[start - 2 : start - 1].isalpha():
        closed += 1  # `$ENV{HF_TOKEN}`
    return (
        _assigned(text, start, end, closed, strength)
        or _attribute(text, closed, strength)
        or _beside(text, start, end, closed, strength)
        or (_value_first(text, start) if strength >= Strength.KEY else None)
    )


def _assigned(text: str, start: int, end: int, closed: int, strength: Strength) -> Span | None:
    """`name: value`, `name = "value"`, `"name": ["value"]`, and what stands indented below `name:`."""
    sign = _ASSIGN.match(text, closed)
    if sign is None:
        return None
    if text[start - 1 : start] == "/" and _PLACE.match(text, sign.end()):
        return None
    if text[max(0, start - 2) : start] == "${" and text[sign.end() : sign.end() + 1] in ("?", "+"):
        return None
    direct = sign.group() == "=" and closed == end or text[start] == "-"
    if strength in (Strength.ASSIGNED, Strength.PASS) or sign["sign"] in ("==", "==="):
        strength = Strength.KEY if direct else strength.beside
    if strength is Strength.WEAK and direct and text[start:end] in _PLURALS:
        strength = Strength.CHOSEN
    if strength is Strength.WEAK and direct and text[start - 1 : end] == ",key":
        strength = Strength.STRONG  # of a disk, on the kernel's command line
    block = _BLOCK.match(text, sign.end())
    if block and sign["sign"] in (":", "：", "="):
        return _below(text, start, block.end(), strength) or _next_words(text, block.end(), strength)
    at = sign.end()
    if sign["sign"] in (":", "："):
        at = max(_match(_TYPED, text, at)[1], _match(_YAML_TAG, text, at)[1])
    at = _match(_MADE, text, at)[1]
    value = _judged(text, _quoted_or(_WORD, text, at), strength, text[at : at + 1] == "'")
    return (value[0], _match(_PARTNER, text, value[1])[1]) if value else None


def _attribute(text: str, closed: int, strength: Strength) -> Span | None:
    """`"name": "HF_TOKEN", "value": "…"`, in JSON, YAML and XML."""
    sign = _ATTRIBUTE.match(text, closed)
    return _judged(text, _quoted_or(_WORD, text, sign.end()), strength) if sign else None


def _beside(text: str, start: int, end: int, closed: int, strength: Strength) -> Span | None:
    """What follows a name without a sign: an option's word, a cell of a table, an argument, a statement."""
    sign = text[closed : closed + 1]
    near = strength.near(text[start:end])
    is_loud = strength >= Strength.KEY and is_variable(text[start:end])
    if sign == ",":
        return _argument(text, start, closed, closed > end, strength if is_loud else near)
    cell = _CELL.match(text, closed)
    if cell:
        first, last = _quoted_or(_IN_CELL, text, cell.end())
        last = first + len(text[first:last].rstrip())
        is_word = is_loud and not any(map(str.isspace, text[first:last]))
        return _judged(text, (first, last), strength if is_word else near)
    if sign in ("(", "{", ">", "["):
        is_text = strength >= Strength.KEY and text[closed + 1 : closed + 2] in ("'", '"')
        near = max(near, Strength.CHOSEN) if is_text else near
        return _judged(text, _quoted_or(_WORD, text, closed + 1), strength if is_loud else near)
    return _behind_blanks(text, start, closed, strength, strength if is_loud else near)


def _argument(text: str, start: int, closed: int, is_quoted: bool, near: Strength) -> Span | None:
    """`"HF_TOKEN", "value"`, or `HF_TOKEN,value`, which is all of its line."""
    before = text[max(0, start - 60) : start]
    sign = _ARGUMENT.match(text, closed) if is_quoted else None
    if sign is None:
        value = _match(_WORD, text, closed + 1)
        is_line = before.endswith("\n") or not before
        near = near if is_line and text[value[1] : value[1] + 1] in ("", "\n") else min(near, Strength.CHOSEN)
        return None if "," in text[slice(*value)] or is_quoted else _unless_name(text, value, near)
    is_set = _SETTER.search(before) or text[start] == "-"
    return _unless_name(text, _quoted_or(_WORD, text, sign.end()), max(near, Strength.STRONG) if is_set else near)


def _unless_name(text: str, span: Span, strength: Strength) -> Span | None:
    """The value, if it is one, and not the name of the next variable in a list, or of the next field."""
    value = text[span[0] : span[1]].strip(_CLOSERS)
    is_name = _NAME.fullmatch(value) or not any(map(str.isdigit, value)) and judged(value)
    return None if is_name or _FIELD.match(text, span[1]) else _judged(text, span, strength)


def _behind_blanks(text: str, start: int, closed: int, strength: Strength, near: Strength) -> Span | None:
    """What stands behind a name and blanks: the word of an option, what is set, a column, the end of a sentence."""
    stated = _STATED.match(text, closed)
    space = _SPACE.match(text, closed)
    if space is None:
        return _judged(text, _quoted_or(_WORD, text, stated.end()), min(near, strength.beside)) if stated else None
    is_option = text[start] == "-" and strength >= Strength.ASSIGNED
    value = _quoted_or(_WORD, text, space.end())
    if is_option or _SETS.search(text[max(0, start - 60) : start]):
        if text[space.end() : space.end() + 1] == "-" or text.startswith(_OF_BUILDS, value[0]):
            return None
        if is_option and strength < Strength.KEY:
            strength = Strength.CHOSEN
        return _judged(text, value, max(strength, Strength.WEAK), text[space.end() : space.end() + 1] == "'")
    if space.group()[0] not in " \t":
        return None
    if near > Strength.CHOSEN and (len(space.group()) > 1 or "\t" in space.group()):
        return _unless_name(text, value, near if _NEXT_CELL.match(text, value[1]) else Strength.CHOSEN)
    if stated is None:
        return None
    is_name = stated["whose"] and not stated["told"]  # `password for user17`
    kind = _KIND.match(text, stated.end())
    at = kind.end() if kind else stated.end()
    is_told = (
        kind
        or text[at : at + 1] in ("'", '"')
        or stated.group().strip()
        or _OF_COMMAND.search(text[max(0, start - 10) : start])
    )
    told = Strength.CHOSEN if is_told and strength >= Strength.KEY else min(near, Strength.CHOSEN)
    return _judged(text, _quoted_or(_WORD, text, at), Strength.WEAK if is_name else told)


def _value_first(text: str, start: int) -> Span | None:
    """`"value": "…", "name": "HF_TOKEN"`."""
    before = text[max(0, start - _BACK) : start]
    at = before.lower().rfind("value")
    found = _VALUE_FIRST.match(before, at - (before[at - 1] in "\"'")) if at > 0 else None
    return (start - len(before) + found.start(1), start - len(before) + found.end(1)) if found else None


def _below(text: str, start: int, end: int, strength: Strength) -> Span | None:
    """The lines below a name that are indented deeper; those with names of their own are no value."""
    indent = _indent(text[text.rfind("\n", 0, start) + 1 : start])
    first, last = end + 1, end
    while last < len(text):
        line = text[slice(*_match(_LINE, text, last + 1))]
        value = line.strip().removeprefix("- ")
        if not value or _indent(line) <= indent and not line.strip().startswith("- ") or ": " in f"{value} ":
            break
        if value.startswith(HIDDEN) or strength < Strength.KEY and not looks_random(value.strip(_CLOSERS)):
            break
        first = last + 1 + _indent(line) if last == end else first
        last += len(line) + 1
    return (first, last) if last > end else None


def _next_words(text: str, end: int, strength: Strength) -> Span | None:
    """The lines right below a name that hold nothing but what looks like a secret: what a prompt was answered."""
    first, last = end + 1, end
    while strength > Strength.WEAK and last < len(text):
        line = text[slice(*_match(_LINE, text, last + 1))]
        words = line.removesuffix("\r").split(" ")
        if len(words) > _MOST_WORDS or not all(map(looks_chosen, words)):
            break
        last += len(line) + 1
    return (first, last) if last > end else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _quoted_or(unquoted: re.Pattern[str], text: str, at: int) -> Span:
    """What stands in the quotes that open here, or the word without them."""
    opened = _OPENED.match(text, at)
    quote = opened["quote"] if opened else None
    if opened is None or not quote:
        start, end = _match(unquoted, text, opened.end() if opened else at)
        return start, start + len(text[start:end].rstrip(_CLOSERS)) if unquoted is _WORD else end
    start = opened.end()
    closer = _CLOSING.get(quote, quote)
    line_end = _match(_LINE, text, start)[1]
    end = text.find(closer, start, start + _LONGEST if len(closer) == len('"""') else line_end)
    while end > 0 and closer in ('"', "'") and text[end - 1] == "\\" and closer == '"':
        end = text.find(closer, end + 1, line_end)
    if end < 0:
        return start, line_end
    if opened.group()[0] in "([":  # all of a list, or of a pair of name and password
        closing = text.find(")" if opened.group()[0] == "(" else "]", end, line_end)
        return start, start + len(text[start:closing].rstrip(_CLOSERS + " ")) if closing > 0 else end
    joined = text[end + 1 : end + 2]  # a shell puts neighbors together: 'a'"b"
    return start, _match(_WORD, text, end)[1] if joined and joined in "\"'" and len(closer) == 1 else end


def _match(pattern: re.Pattern[str], text: str, at: int) -> Span:
    found = pattern.match(text, at)
    return found.span() if found else (at, at)


def _judged(text: str, span: Span, strength: Strength, literal: bool = False) -> Span | None:
    """The span, if it is a value of a secret; `literal` where a shell takes each sign as it is."""
    value = text[span[0] : span[1]]
    lowered = value.strip(_CLOSERS + "({[<>. ").lower()
    if not lowered or lowered in words_of("state") or value.startswith(HIDDEN) or _SAYS_NOTHING.fullmatch(value):
        return None
    if strength is Strength.KEY and _PATH.fullmatch(value):
        return None
    if (_LITERAL_REFERENCE if literal else _REFERENCE).fullmatch(value):
        return None
    if strength is Strength.CHOSEN:  # scripts without spaces go on behind it
        first, end = _match(_ASCII, text, span[0])
        if looks_chosen(text[first:end].strip(_CLOSERS + ".")):
            return first, min(end, span[1])
    if strength < Strength.KEY and not looks_random(value.strip(_CLOSERS + ".")):
        return None
    is_cut = len(value) >= _LONGEST
    return (span[0], _match(_REST, text, span[1])[1]) if is_cut else span
