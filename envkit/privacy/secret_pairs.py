"""Hides a value that stands in a field of its own, beside the one with its name: `name: HF_TOKEN`, `value: …`."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.privacy.secret_names import Strength
from envkit.privacy.secret_values import IN_TAG, Span, matched, secret_in, value_at
from envkit.privacy.secrets_below import below

_Q = r"\\{0,6}[\"']?"  # a quote, or none
_VALUE = rf"{_Q}(?:[Vv]al(?:ue)?|\w{{1,20}}Value|secure|plaintext|default){_Q}\s{{0,4}}"
_BEHIND = regex(  # the fields between the two have values of one line
    rf"{_Q}(?:[ \t]{{1,8}}\#[^\n]{{0,120}})?\s{{0,4}}[,;]?\s{{0,40}}"
    rf"(?:{_Q}[A-Za-z]\w{{0,30}}{_Q}[ \t]{{0,4}}[:=][ \t]{{0,4}}[^,\n{{}}\[\]]{{1,120}}(?:,|\n)\s{{0,40}}){{0,3}}"
    rf"{_VALUE}[:=](?:[ \t]{{0,4}}(?=[|>\n])|\s{{0,4}})"
)
_OTHER = regex(
    r"[ \t]{0,4}[:=][ \t]{0,4}(?:\{\s{0,40}|\n[ \t]{1,40})[\"']?[Vv]alue[\"']?[ \t]{0,4}[:=][ \t]{0,4}(?=[^\s|>])"
    r"|</\w{1,20}>\s{0,80}<(?:value|string)>|[^<>\n]{0,80}>(?=[^<>\s][^<>\n]{0,2000}</)"  # of XML
    r"|\s{0,4}\{[^{}]{0,300}?\bdefault\s{0,10}=\s{0,4}"  # of Terraform
    r"|[ \t]{1,40}REG_(?:EXPAND_)?SZ[ \t]{1,40}"  # of Windows
    r"|[ \t]{1,4}/t[ \t]{1,4}REG_(?:EXPAND_)?SZ[ \t]{1,4}/d[ \t]{1,4}"
    r"|[ \t]by[ \t]\w{1,20}\([ \t]?(?=[\"'])"  # of Kotlin
    r"|[ \t]{1,4}-[Vv]alue[ \t]{1,4}"  # of PowerShell
    r"|[\"'],[^()\n]{0,300}?\bdefault[ \t]{0,4}=[ \t]{0,4}(?=[bruf]{0,2}[\"'])"  # of options in Python
    r"|(?<=[\])])[ \t]{0,4}(?:or|\|\||\?\?)[ \t]{0,4}(?=[\"'])"
)
_BLOCK = regex(r"[|>][+-]?\d?[+-]?[ \t]*(?=\n)|(?=\n)")
_FIRST = regex(
    rf"{_VALUE}[:=]\s{{0,4}}[\"']?([^\"'\s]{{1,400}}|(?<=[\"'])[^\"'\n]{{1,400}})[\"']?(?:\s{{0,4}},|\s)\s{{0,40}}"
    rf"{_Q}(?:[Nn]ame|[Kk]ey|\w{{1,20}}Key){_Q}\s{{0,4}}[:=]\s{{0,4}}[\"']?$"
)
_EQUAL = regex(r"[\"']([^\"'\n]{1,200})[\"'][ \t]{0,4}={2,3}[ \t]{0,4}[\w.]{0,60}$")
_MARKS = ("value", "val", "secure", "plaintext", "default")
_BACK = 480


def value_behind(text: str, closed: int, strength: Strength) -> Span | None:
    """`"name": "HF_TOKEN", "value": "…"`, in JSON, YAML and XML; the name ends at `closed`, with its quotes."""
    other = _OTHER.match(text, closed) or _OTHER.match(text, closed - 1)
    if other:
        return secret_in(text, value_at(text, other.end()), strength)
    sign = _BEHIND.match(text, closed)
    if sign is None:
        return None
    block = _BLOCK.match(text, sign.end())
    if block:
        field = sign.end() - len(text[sign.start() : sign.end()].rpartition("\n")[2].lstrip())
        return below(text, field, block.end(), strength)
    return secret_in(text, value_at(text, sign.end()), strength)


def value_before(text: str, start: int) -> Span | None:
    """`"value": "…", "name": "HF_TOKEN"`, and `"…" == token` where that looks like a password."""
    before = text[max(0, start - _BACK) : start]
    offset = start - len(before)
    equal = _EQUAL.search(before[-280:])
    if equal:
        shift = start - len(before[-280:])
        return secret_in(text, (shift + equal.start(1), shift + equal.end(1)), Strength.CHOSEN)
    lowered = before.lower()
    for at in sorted((lowered.rfind(mark) for mark in _MARKS), reverse=True):
        found = _FIRST.match(before, at - (before[at - 1] in "\"'")) if at > 0 else None
        if found:
            return offset + found.start(1), offset + found.end(1)
    return None


def text_in_tag(text: str, at: int, strength: Strength) -> Span | None:
    """What stands in the element that opens before this place."""
    return secret_in(text, matched(IN_TAG, text, at), strength)
