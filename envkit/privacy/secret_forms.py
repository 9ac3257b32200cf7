"""Hides what the form of a command, a call or a line tells: `… | sudo -S`, `login("…")`, `{PLAIN}…`.

One table of all forms, each tried only in a text that holds one of its needles.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_random

_HIDDEN = "***"
# a word of a command that is no option, no variable and not hidden yet
WORD = r"(?![-$*]|[\"']\$|[\"']?\*\*\*)(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"'|;&]{1,400})"
_READER = (  # what is given to these on their standard input is a password
    r"(?:sudo (?:-\w{1,4} ){0,4}-S|-stdin\b|\bsecrets? (?:create|set|put|versions)|\bload-key"
    r"|(?<![\w/.])\w{0,10}passwd\b|\bcryptsetup|\blogin\b|\bkinit|\bkadmin|\bkeyctl|--passphrase-fd|\bmokutil|\bgh auth"
    r"|\bstore-secret|\bpass insert)"
)
_PUT_VALUE = regex(rf"( [\w./@][\w./@-]{{0,79}}=){WORD}")
_TEXT_ARGUMENT = regex(
    r"((?:^|[,(])\s{0,4}(?:(?:key|auth|api_?key|token|password)\s?=\s?)?[bruf]?[\"'])(?!\*\*\*)([^\"'\n]{1,400})"
)


@record
class _Form:
    """An expression, what stands in its place, and what a text holds one of that it is tried in."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    shown: Callable[[re.Match[str]], str]


def without_forms(text: str) -> str:
    """The text without the secrets that a form alone tells."""
    for form in _FORMS:
        if any([needle in text for needle in form.needles]):
            text = form.pattern.sub(form.shown, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{_HIDDEN}"


def _if_secret(match: re.Match[str]) -> str:
    """What a script types for somebody, or a file has in a place: hidden where it looks like a password."""
    return _hidden(match) if looks_chosen(match[2]) or looks_random(match[2]) else match.group()


def _each(inner: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """The first group, and the second without all that the other expression finds there."""
    return lambda match: match[1] + inner.sub(_hidden, match[2])


_FORMS = (
    _Form(
        ("echo ", "printf "),
        regex(
            rf"\b((?:echo|printf)(?: -[neE]{{1,3}}| [\"']?%s(?:\\n)?[\"']?){{0,3}} {{1,4}}){WORD}"
            rf"(?= {{0,4}}\| {{0,4}}[^\n|]{{0,200}}?{_READER})"
        ),
        _hidden,
    ),
    _Form(("<<<",), regex(rf"({_READER}[^\n|;&<]{{0,200}}<<< {{0,4}}){WORD}"), _hidden),
    _Form(("--from-literal",), regex(r"(--from-literal[= ][\w.-]{1,80}=)(?!\*\*\*)[^\s\"']{1,400}"), _hidden),
    _Form(  # `--src-creds NAME:PASSWORD` of tools for images
        ("creds", "credentials", "--auth"),
        regex(
            r"(--(?:[a-z]{1,10}-)?(?:creds|credentials|auth)[= ]{1,2}[\"']?[^\s:\"'/=*]{1,120}:)"
            r"[^\s\"'*][^\s\"']{0,400}"
        ),
        _hidden,
    ),
    _Form(  # `vault kv put PATH NAME=…`
        (" put ", " patch ", " write ", " set ", " create ", " put-parameter "),
        regex(
            r"(\b(?:kv put|kv patch|vault write|secrets set|item create|ssm put-parameter)\b)"
            r"([^\n|;&]{0,1000}=[^\n|;&]{0,1000})"
        ),
        _each(_PUT_VALUE),
    ),
    _Form(  # `crane auth login REGISTRY -u NAME -p …`, whoever logs in; a number is a port
        ("login ",),
        regex(
            r"((?<![\w-])login(?: [^-\s][^\s]{0,200})?"
            r"(?: --?[a-z][\w-]{0,30}(?:[ =](?!-)[^\s|;&]{1,200})?){0,5}? (?:-[pkt]|--key)[ =])"
            rf"(?!\d{{1,5}}(?:\s|$)){WORD}"
        ),
        _hidden,
    ),
    _Form(  # functions that take a secret by its place
        ("(",),
        regex(
            r"((?<!def )\b(?:login|crypt|passwd|hash_password|generate_password_hash|set_?api_?key|with_?token"
            r"|set_?password|with_?api_?key|token|apikey)\([ \t]{0,4})"
            r"((?:[^()\n]{0,60}?[bruf]?[\"'][^\"'\n]{1,400}[\"']){1,4})",
            re.IGNORECASE,
        ),
        _each(_TEXT_ARGUMENT),
    ),
    _Form(  # what a script of `expect` types
        ("send ",), regex(r"(\bsend(?: --?)? \\?[\"'])([^\"'\n\\$]{1,200})(?=\\{1,2}[rn])"), _if_secret
    ),
    _Form(  # behind a mark that says so
        ("::add-mask::", ";issecret=", "sonar.login=", "{", " >"),
        regex(
            r"(::add-mask::|;issecret=true\]|-Dsonar\.login="
            r"|\{(?:PLAIN|CLEAR|CLEARTEXT|noop|bcrypt|CRYPT|MD5|SMD5|S?SHA\d{0,3})\}"
            r"|\buser [\w.@-]{1,60} (?:on|off) (?:[^\s>]{1,60} ){0,4}>)(?!\*\*\*)[^\s\"']{1,400}"
        ),
        _hidden,
    ),
    _Form(  # lines of files of pppd and of Postfix
        ("*", "["),
        regex(
            r"(?<![^\s(\"'`])([\w.@*\"-]{1,80}[ \t]{1,20}\*[ \t]{1,20}"
            r"|\[[\w.-]{1,80}\](?::\d{1,5})?[ \t]{1,20}[\w.@+-]{1,80}:)"
            r"([^\s*)\"'`]{1,200})(?=[ \t]{1,20}\*|[\s)\"'`]|$)",
        ),
        _if_secret,
    ),
)
