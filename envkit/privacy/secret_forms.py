"""Hides what the form of a command, a call or a line tells: `… | sudo -S`, `login("…")`, `{PLAIN}…`.

One table of all forms, each tried only in a text that holds one of its needles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_chosen, looks_random
from envkit.privacy.secret_values import HIDDEN

# a word of a command that is no option, no variable and not hidden yet
WORD = r"(?![-$*]|[\"']\$|[\"']?\*\*\*)(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"'|;&]{1,400})"
_READER = (  # what is given to these on their standard input is a password
    r"(?:sudo (?:-[\w-]{1,12}(?: '')? ){0,4}(?:-\w{0,3}S\w{0,3}\b|--stdin)|-stdin\b"
    r"|\bsecrets? (?:create|set|put|versions)"
    r"|\bload-key|(?<![\w/.])\w{0,10}passwd\b|\bcryptsetup|\blogin\b|\bkinit|\bkadmin|\bkeyctl|--passphrase-fd|\bmokutil"
    r"|\bgh auth|\bstore-secret|\bpass insert|\bsu -?c?\b|\brunas\b|password_stdin|\bsecret-tool store|\brealm join"
    r"|\benv add|--password\b|--auth-user-pass|\bunlock\b|\bsetpassword|\bmkpasswd|\bsu$)"
)
_WRITTEN = regex(
    rf"((?:\b(?:echo|printf)|^[ (]{{0,4}}yes)(?: -[neE]{{1,3}}| [\"']?%s(?:\\n)?[\"']?){{0,3}} {{1,4}})"
    rf"(?![\"']?%s){WORD}"
)
_PUT_VALUE = regex(rf"( [\w./@][\w./@-]{{0,79}}=){WORD}")
_TEXT_ARGUMENT = regex(
    r"((?:^|[,(])\s{0,4}(?:(?:key|auth|api_?key|token|password)\s?=\s?)?[bruf]?[\"'])(?!\*\*\*)([^\"'\n]{1,400})"
)


@record
class Form:
    """An expression, what stands in its place, and what a text holds one of that it is tried in."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    shown: Callable[[re.Match[str]], str]


def without_forms(text: str) -> str:
    """The text without the secrets that the form of a command or a call tells."""
    return without(_FORMS, text)


def without(forms: Iterable[Form], text: str) -> str:
    """The text without what these forms tell."""
    for form in forms:
        for needle in form.needles:
            if needle in text:
                text = form.pattern.sub(form.shown, text)
                break
    return text


def hidden(match: re.Match[str]) -> str:
    """The first group, and a mark for the rest."""
    return f"{match[1]}{HIDDEN}"


def if_secret(match: re.Match[str]) -> str:
    """What a script types for somebody, or a file has in a place: hidden where it looks like a password."""
    return hidden(match) if looks_chosen(match[2]) or looks_random(match[2]) else match.group()


def each(inner: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """The first group, and the second without all that the other expression finds there."""
    return lambda match: match[1] + inner.sub(hidden, match[2])


_FORMS = (
    Form(  # what `printf` puts behind the name in its first word
        ("printf ",),
        regex(
            rf"(\bprintf (?:-- )?(?:\"[^\"\n]{{0,200}}?|'[^'\n]{{0,200}}?)"
            rf"(?i:pass\w{{0,6}}|pwd|token|secret|\w{{1,20}}_key)"
            rf"[:= ]{{1,3}}%[sq][^\"'%\n]{{0,40}}[\"'] ){WORD}"
        ),
        hidden,
    ),
    Form(  # `echo … | passwd`
        ("echo ", "printf ", "yes "),
        regex(rf"(^|(?<=\n))([^\n|]{{1,400}}(?= {{0,4}}\| {{0,4}}[^\n|]{{0,200}}?{_READER}))"),
        each(_WRITTEN),
    ),
    Form(("<<<",), regex(rf"({_READER}[^\n|;&<]{{0,200}}<<< {{0,4}}){WORD}"), hidden),
    Form(("--from-literal",), regex(r"(--from-literal[= ][\w.-]{1,80}=)(?!\*\*\*)[^\s\"']{1,400}"), hidden),
    Form(  # `--src-creds NAME:PASSWORD` of tools for images
        ("creds", "credentials", "--auth"),
        regex(
            r"(--(?:[a-z]{1,10}-)?(?:creds|credentials|auth)[= ]{1,2}[\"']?[^\s:\"'/=*]{1,120}:)"
            r"[^\s\"'*][^\s\"']{0,400}"
        ),
        hidden,
    ),
    Form(  # `vault kv put PATH NAME=…`
        (" put ", " patch ", " write ", " set ", " create ", " put-parameter "),
        regex(
            r"(\b(?:kv put|kv patch|vault write|secrets set|item create|ssm put-parameter)\b)"
            r"([^\n|;&]{0,1000}=[^\n|;&]{0,1000})"
        ),
        each(_PUT_VALUE),
    ),
    Form(  # `crane auth login REGISTRY -u NAME -p …`, whoever logs in; a number is a port
        ("login ",),
        regex(
            r"((?<![\w-])login(?: [^-\s][^\s]{0,200})?"
            r"(?: --?[a-z][\w-]{0,30}(?:[ =](?!-)[^\s|;&]{1,200})?){0,5}? (?:-[pkt]|--key)[ =])"
            rf"(?!\d{{1,5}}(?:\s|$)){WORD}"
        ),
        hidden,
    ),
    Form(  # functions that take a secret by its place
        ("(",),
        regex(
            r"((?<!def )\b(?:login|crypt|passwd|hash_password|generate_password_hash|set_?api_?key|with_?token"
            r"|set_?password|with_?api_?key|token|apikey|OpenAI|Anthropic|\w{0,20}KeyCredential)\(\s{0,40})"
            r"((?:[^()\n]{0,60}?[bruf]?[\"'][^\"'\n]{1,400}[\"']){1,4})",
            re.IGNORECASE,
        ),
        each(_TEXT_ARGUMENT),
    ),
    Form(  # those that take one behind other arguments
        ("BasicAuth(", "PSCredential(", ".auth(", ".connect("),
        regex(
            r"(\b(?:HTTP(?:Basic|Digest|Proxy)Auth|PSCredential|db\.auth)\(\s{0,20}[bruf]?[\"'][^\"'\n]{0,200}[\"'],"
            r"\s{0,20}[bruf]?[\"']"
            r"|\b(?:pymysql|MySQLdb|psycopg2?|cx_Oracle|oracledb|pyodbc|mariadb)\.connect\(\s{0,20}"
            r"(?:[\"'][^\"'\n]{0,200}[\"'],\s{0,20}){2}[\"'])(?!\*\*\*)[^\"'\n]{1,400}"
        ),
        hidden,
    ),
    Form(  # what an address carries back from a login, also where its host is not told
        ("code=", "ticket=", "SAMLResponse=", "assertion="),
        regex(r"([?&](?:code|ticket|assertion|SAMLResponse)=)(?=[A-Z\d_]{0,40}[a-z])([^\s&\"'<>]{6,4000})"),
        if_secret,
    ),
    Form(  # what a script of `expect` types
        ("send ",), regex(r"(\bsend(?: --?)? \\?[\"'])([^\"'\n\\$]{1,200})(?=\\{1,2}[rn])"), if_secret
    ),
    Form(  # behind a mark that says so
        ("::add-mask::", ";issecret=", "sonar.login=", "{", " >"),
        regex(
            r"(::add-mask::|;issecret=true\]|-Dsonar\.login="
            r"|\{(?:PLAIN|CLEAR|CLEARTEXT|noop|bcrypt|CRYPT|MD5|SMD5|S?SHA\d{0,3})\}"
            r"|\buser [\w.@-]{1,60} (?:on|off) (?:[^\s>]{1,60} ){0,4}>)(?!\*\*\*)[^\s\"']{1,400}"
        ),
        hidden,
    ),
)
