"""Hides what stands behind the name of a secret: assigned, quoted, in a table, as an argument, or on the next lines.

Each name is looked at once, and what follows it within limits, so that the time grows with the text. Where its value
ends is told by `secret_values`; a value on the next lines is found by `secrets_below`, one in a field of its own by
`secret_pairs`.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_random
from envkit.privacy.plain_letters import lowered
from envkit.privacy.secret_columns import column_secrets
from envkit.privacy.secret_names import COOKIES, Strength, is_variable, judged, names, words_of
from envkit.privacy.secret_pairs import text_in_tag, value_before, value_behind
from envkit.privacy.secret_values import (
    CLOSERS,
    HIDDEN,
    IN_CELL,
    LINE,
    WORD,
    Span,
    is_field,
    matched,
    secret_in,
    value_at,
)
from envkit.privacy.secrets_below import alone_below, below, next_word, next_words

# what stands between a name and its separator: ends of quotes, brackets and emphasis
_CLOSED = regex(r"(?:\\{0,6}[\"'`\])*”’»]|\\u00(?:22|27)|&(?:quot|#34|#39|apos);|%2[27]){0,4}")
_ASSIGN = regex(
    r"[ \t]{0,40}(?:\n[ \t]{0,40}(?=: ))?"
    r"(?P<sign>[:?]=|=>|->|={1,3}|[:：＝]|%3[AaDd])(?:\*\*(?=[ \t]))?[ \t\u3000]{0,40}"
)
_TYPED = regex(r"(?:&?'?[\w.<>\[\], |?]{1,60}?)[ \t]{1,4}=[ \t]{1,4}(?=[bruf]?[\"'])")  # `token: str = "…"`
_MADE = regex(r"lambda\b[^:\n]{0,40}:[ \t]{0,4}")  # a function that gives it
_YAML_TAG = regex(r"(?:!{1,2}[\w./:-]{1,60}|&\w{1,60})[ \t]{1,4}(?![|>])")
# `Contraseña de la BD = …`, `пароль базы: …`
_OF_WHAT = regex(r"((?:[ \t][^\W\d_]{1,16}){1,4})[ \t]{0,2}[:：=][ \t]{1,3}")
_CELL = regex(r"[ \t]{0,80}[|│┃║][ \t]{0,80}")
_ARGUMENT = regex(r",\s{0,20}(?=[bruf]?[\"'])")
_NEXT_CELL = regex(r"[ \t]*(?:$|[\t\n\r,|])")  # what follows a cell of a table without lines
_NAME = regex(r"\$?[A-Z][A-Z0-9_]*")  # of another variable
_IS = "is|was|ist|war|lautet|est|était|es|era|é|è|jest|är"
_BECAME = rf"(?:(?:{_IS}|has been) )?(?:set|changed|reset) to"
_WHOSE = r"(?P<whose>(?:(?:is|was) generated )?for|of)"
_STATED = regex(
    rf"[ \t]{{1,40}}(?:\(|(?:(?:{_BECAME}|{_IS}|provided|given|value|{_WHOSE}|used)(?:[ \t](?:user|key))?:?[ \t]{{1,3}}"
    rf"(?:(?:[^\s:']{{1,64}}|'[^'\n]{{1,120}}')(?P<told>:|[ \t]{{1,3}}(?:{_IS}):?)[ \t]{{1,3}})?"
    r"|(?:[-–—/]|provided:|given:|used:|rejected:)[ \t]{1,3})?)|[是为為は는은][ \t\u3000]{0,3}|(?:;|\.{3}|…)[ \t]{1,3}"
)
_TAG = regex(r"(?:\s[^<>\n]{0,200})?>(?:<!\[CDATA\[)?")
_SPACE = regex(r"[ \t]{1,40}|\x00(?=[^\x00-])|\r?\n[ \t]{0,40}- (?!-)")  # the last two: of words of a command
_KIND = regex(r"\d[ \t](?=[^\s\d])")  # how a router's password is written
_OF_COMMAND = regex(r"\b(?:[Uu]sing|with|[Yy]our|invalid|bad|set|auth)[ \t]$")
_PARTNER = regex(r"[ \t]{1,3}/[ \t]{1,3}[^\s/]{1,200}")  # `credentials: name / password`
_PLACE = regex(r"line \d{1,7}\b")  # behind the name of a file that is called like a secret: /etc/passwd
_BLOCK = regex(r"(?:(?:![\w-]|&\w)[\w-]{0,40}[ \t]{1,4})?[|>][+-]?\d?[+-]?[ \t]*(?=\n)|(?=\r?\n)")
_SETS = regex(
    r"(?:\b(?:setenv|setx|ENV|ARG|export|putenv|set(?:[_-]env)?(?: -\w{1,4}){1,3}|%?set_env"
    r"|(?:[SsNn]et|New)-(?:Item|Content)(?: -[Pp]ath)? [Ee]nv:\\?|remote modify(?: --\w{1,10})? \S{1,80}"
    r"|con mod \S{1,80}"
    r"|wifi(?:-sec\.)?"
    r"|(?:config(?:ure)?|variables?|secrets?|env)(?: --?\w{1,20}){0,2}"
    r"(?:[ :](?:set|add|create))?(?: --?\w{1,20}){0,2}))"
    r"[ \t]{1,4}$|[ \t][Ee]nv:\\?$"
)
_SETTER = regex(
    r"(?:putenv|setenv|setdefault|set_?env|set_?var|add_?env|setProperty|setItem|define|put_env"
    r"|SetEnvironmentVariable|setattr\([ \t]{0,4}[\w.]{1,60},|getattr\([ \t]{0,4}[\w.]{1,60},)\(?\s{0,40}[\"']$",
    re.IGNORECASE,
)
_PLURALS = ("SECRETS", "PASSWORDS", "TOKENS")
_OF_BUILDS = ("id=", "type=", "source=", "src=")  # --secret of `docker build` says where a secret is
_MOST_REPEATED = 32  # values that are looked for in the rest of the text


def without_named(text: str, plain: str) -> str:
    """The text with the values of names of secrets hidden, wherever else they stand in it too.

    `plain` is the text with the letters that it looks to have, at the same places.
    """
    spans: list[Span] = []
    done = 0
    found_names = sorted(_names(text, plain))
    for start, end, strength in found_names:
        found = _value_of(text, start, end, strength) if start >= done else None
        if found:
            spans.append(found)
            done = found[1]
    if "\n" in text:
        spans = sorted([*spans, *column_secrets(text, found_names)])
    if not spans:
        return text
    repeated = {text[start:end] for start, end in spans[:_MOST_REPEATED] if looks_random(text[start:end])}
    shown = _hidden(text, spans)
    for value in repeated:
        shown = shown.replace(value, HIDDEN)
    return shown


def _names(text: str, plain: str) -> set[tuple[int, int, Strength]]:
    found = set(names(text, lowered(text)))
    return found if plain == text else found.union(names(plain, lowered(plain)))


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
        return text_in_tag(text, tag.end(), strength)
    closed = matched(_CLOSED, text, end)[1]
    if text[closed : closed + 1] == "}" and text[start - 1 : start] == "{" and text[start - 2 : start - 1].isalpha():
        closed += 1  # `$ENV{HF_TOKEN}`
    return (
        _assigned(text, start, end, closed, strength)
        or value_behind(text, closed, strength)
        or _beside(text, start, end, closed, strength)
        or (_of_what(text, end) if strength >= Strength.KEY else None)
        or (value_before(text, start) if strength >= Strength.KEY else None)
        or (alone_below(text, start, closed) if strength >= Strength.KEY else None)
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
    strength = _when_assigned(text, start, end, sign["sign"], direct, strength)
    block = _BLOCK.match(text, sign.end())
    if block and sign["sign"] in (":", "：", "="):
        found = below(text, start, block.end(), strength) or next_words(text, start, block.end(), strength)
        return found or (next_word(text, start, block.end()) if direct and strength >= Strength.KEY else None)
    at = sign.end()
    if sign["sign"] in (":", "："):
        at = max(matched(_TYPED, text, at)[1], matched(_YAML_TAG, text, at)[1])
    at = matched(_MADE, text, at)[1]
    span = (_to_the_quote(text, start, at) if direct else None) or value_at(text, at)
    value = text[slice(*span)]
    if text[at : at + 1] == "{" and is_field(text, span[1]) or value[-1:] == "=" and judged(value[:-1]):
        return None  # a record, whose fields have names of their own, or the name of what is assigned
    found = secret_in(text, span, strength, text[at : at + 1] == "'")
    return (found[0], matched(_PARTNER, text, found[1])[1]) if found else None


def _to_the_quote(text: str, start: int, at: int) -> Span | None:
    """The value up to the end of the quotes that open before its name: `-e "DB_PASS=two words"`."""
    quote = text[start - 1 : start] if start else ""
    if quote not in ("'", '"') or text[max(0, start - 2) : start - 1].strip() or text[at : at + 1] in ("'", '"'):
        return None
    end = text.find(quote, at, matched(LINE, text, at)[1])
    return (at, end) if end > at else None


def _when_assigned(text: str, start: int, end: int, sign: str, direct: bool, strength: Strength) -> Strength:
    """What a name says about a value behind this sign, which stands `direct`ly between them or not."""
    if sign in ("==", "==="):
        return min(strength, Strength.CHOSEN)
    if strength in (Strength.ASSIGNED, Strength.PASS):
        return Strength.KEY if direct else strength.beside
    if strength is not Strength.WEAK or not direct:
        return strength
    if text[start - 1 : end] == ",key":
        return Strength.STRONG  # of a disk, on the kernel's command line
    is_telling = text[start:end] in _PLURALS or text[start:end].lower().endswith(COOKIES)
    return Strength.CHOSEN if is_telling else strength


def _of_what(text: str, end: int) -> Span | None:
    """What is told of a name and a few words behind it, if it looks like a password and no word says otherwise."""
    words = _OF_WHAT.match(text, end)
    if words is None or not words_of("other").isdisjoint(words[1].lower().split()):
        return None
    return secret_in(text, value_at(text, words.end()), Strength.CHOSEN)


def _beside(text: str, start: int, end: int, closed: int, strength: Strength) -> Span | None:
    """What follows a name without a sign: an option's word, a cell of a table, an argument, a statement."""
    sign = text[closed : closed + 1]
    near = strength.near(text[start:end])
    is_loud = strength >= Strength.KEY and is_variable(text[start:end])
    if sign == ",":
        return _argument(text, start, closed, closed > end, strength if is_loud else near)
    cell = _CELL.match(text, closed)
    if cell:
        first, last = value_at(text, cell.end(), IN_CELL)
        last = first + len(text[first:last].rstrip())
        is_word = is_loud and not any(map(str.isspace, text[first:last]))
        return secret_in(text, (first, last), strength if is_word else near)
    if sign in ("(", "{", ">", "["):
        is_text = strength >= Strength.KEY and text[closed + 1 : closed + 2] in ("'", '"')
        near = max(near, Strength.CHOSEN) if is_text else near
        return secret_in(text, value_at(text, closed + 1), strength if is_loud else near)
    return _behind_blanks(text, start, closed, strength, strength if is_loud else near)


def _argument(text: str, start: int, closed: int, is_quoted: bool, near: Strength) -> Span | None:
    """`"HF_TOKEN", "value"`, or `HF_TOKEN,value`, which is all of its line."""
    before = text[max(0, start - 60) : start]
    sign = _ARGUMENT.match(text, closed) if is_quoted else None
    if sign is None:
        value = matched(WORD, text, closed + 1)
        is_line = before.endswith("\n") or not before
        near = near if is_line and text[value[1] : value[1] + 1] in ("", "\n") else min(near, Strength.CHOSEN)
        return None if "," in text[slice(*value)] or is_quoted else _unless_name(text, value, near)
    is_set = _SETTER.search(before) or text[start] == "-"
    return _unless_name(text, value_at(text, sign.end()), max(near, Strength.STRONG) if is_set else near)


def _unless_name(text: str, span: Span, strength: Strength) -> Span | None:
    """The value, if it is one, and not the name of the next variable in a list, or of the next field."""
    value = text[span[0] : span[1]].strip(CLOSERS)
    is_name = _NAME.fullmatch(value) or not any(map(str.isdigit, value)) and judged(value)
    return None if is_name or is_field(text, span[1]) else secret_in(text, span, strength)


def _behind_blanks(text: str, start: int, closed: int, strength: Strength, near: Strength) -> Span | None:
    """What stands behind a name and blanks: the word of an option, what is set, a column, the end of a sentence."""
    stated = _STATED.match(text, closed)
    space = _SPACE.match(text, closed)
    if space is None:
        return secret_in(text, value_at(text, stated.end()), min(near, strength.beside)) if stated else None
    is_option = text[start] == "-" and strength >= Strength.ASSIGNED
    value = value_at(text, space.end())
    if is_option or _SETS.search(text[max(0, start - 60) : start]):
        if text[space.end() : space.end() + 1] == "-" or text.startswith(_OF_BUILDS, value[0]):
            return None
        if is_option and strength < Strength.KEY:
            strength = Strength.CHOSEN
        return secret_in(text, value, max(strength, Strength.WEAK), text[space.end() : space.end() + 1] == "'")
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
    return secret_in(text, value_at(text, at), Strength.WEAK if is_name else told)
