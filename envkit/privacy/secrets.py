"""Secrets have no place in any output: tokens, passwords, logins and private keys become `***`.

A text is searched for what begins like a token, for names of secrets with a value, for options that take one, and for
logins in addresses. All patterns are bounded or take what they have looked at, so that the time grows with the text.
"""

from __future__ import annotations

import re
from functools import cache

from envkit._startup.regex import regex

HIDDEN = "***"
# a text without any of these, in lower case, holds no secret: most have none, and looking for them costs least
_SIGNS = """
    token secret pass pwd key _pw -pw _pat -pat _pin _dsn _sas psk credential auth cookie licen signature sig=
    bearer basic digest negotiate login :// @ eyj ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ hf_ npm_ glpat- gldt-
    glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- sk- sk_ pk_ rk_ xox xapp- pypi- nvapi-
    dckr_ dop_ lin_api aiza ya29. sg. akia asia abia acca aroa aida :aa kinit mysql connection netrc identified
    -u --user rootpw sshpw wireless_
"""
_KEY_BLOCK = regex(r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY[ A-Z]{0,10}-----[\s\S]*?(?:-----END[ A-Z0-9]{0,60}-----|\Z)")
_TOKEN = regex(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:hf_|gh[opsur]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|xox[a-z]-|xoxe\.xox[a-z]-|"
    r"xapp-|nvapi-|npm_|dckr_[a-z]{1,4}_|dop_v1_|(?:sk|pk|rk)_(?:live|test)_|lin_api_|AIza|ya29\.|SG\.|eyJ)"
    r"[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{1,4000}){0,4}"
    r"|(?:sk-|pypi-(?=Ag))(?=[a-z_-]{0,60}[A-Z0-9])[A-Za-z0-9_-]{12,}"  # a package index's begin with its macaroon's Ag
    r"|A(?:KI|SI|BI|CC|RO|ID)A[A-Z0-9]{10,}"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{30,}"
    r")={0,2}"
)
_HEADER = regex(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{1,30}(?:token|key|auth|signature))"
    r"((?:\\{0,2}[\"'])?\s{0,4}[:=]\s{0,4}(?:\\{0,2}[\"'])?)(?![\s\"'\\]{0,8}\*\*\*)[^\"'\n\\]+"
)
_SCHEME = regex(
    r"\b((?i:bearer|negotiate)\s{1,4})(?!\*\*\*)[A-Za-z0-9+/=._~-]{6,}"
    r"|\b((?i:basic|digest)\s{1,4})(?=[A-Za-z+/]{0,400}[0-9=])[A-Za-z0-9+/]{8,}={0,2}"
)
_VALUE = r"(?:\"[^\"\n]*\"?|'[^'\n]*'?|[^\s\"']\S*)"
_NOT_A_VALUE = r"(?![\s\"'\\>=]{0,8}(?:\*\*\*|(?:true|false|none|null|yes|no)\b|\$\{?\w))"
_NAMED = regex(
    r"(?i)((?:token|secret|password|passwd|passphrase|passcode|credentials?|cookie|connection[_-]?string"
    r"|(?<![a-z])(?:auth|pass|pwd|pw|psk|authkey|netrc)|(?:signature|(?<![a-z])sig)(?==)"
    r"|(?:api|access|account|secret|private|signing|encryption|license|license|client|ssh|storage|service|shared|session"
    r"|app|auth|deploy|master|admin)[_-]?(?:access[_-]?)?(?:key|id_?token)(?:[_-]?data)?"
    r"|[_-](?:key|pw|pat|pin|dsn|psk|sas)|_licen[cs]e"
    # of the kernel's command line: for dracut, Arch, Debian's initrd and installer, Anaconda
    r"|(?<![a-z])(?:luks\.key|cryptkey|zfskey|keyfile|rootpw|sshpw)|(?<=,)key(?==)|wireless_(?:wep|wpa))"
    r"(?:[_-][\w-]{1,30}(?![\w-]))?(?:\\{0,2}[\"'])?\s{0,3}(?::=|=>|[:=])\s{0,3}\\{0,2})" + _NOT_A_VALUE + _VALUE
)
_OPTION = regex(
    r"(?i)((?<![\w-])--?[a-z-]{0,20}(?:password|passwd|passphrase|token|secret|api-?key|access-key|auth-?key|psk|pass)"
    r"[a-z-]{0,10}[ \t]{1,4})(?!-)" + _NOT_A_VALUE + _VALUE
)
_USER_OPTION = regex(
    r"((?<![\w-])(?:-u|-U|--user|--proxy-user)(?:[ \t]{1,4}|=)[\"']?)(?!\d{1,9}:\d{1,9}(?:\s|$))(?![A-Za-z]:\\)"
    r"[^\s:\"'/=]{1,120}:[^\s\"']+"
)
_LOGIN_OPTION = regex(r"(\b(?:login|sshpass|mysql\w{0,10}|smbclient|kinit)\b[^\n]{0,160}? -p[ =]?)(?!-)" + _VALUE)
_NETRC = regex(r"(?i)(\blogin\s{1,4})[^\s]{1,200}(\s{1,4}password\s{1,4})[^\s]{1,200}")
_STATED = regex(r"(?i)(\b(?:password|passphrase|identified by)\s{1,3}(?:is\s{1,3})?)([\"'][^\"'\n]{1,200}[\"'])")
_URL = regex(r"(?<![a-zA-Z])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s\"'<>`|]*")
_CHUNK = regex(r"[^\s\"'<>`|]+")
_ACCOUNT = regex(r"[A-Za-z][\w.+%~-]{0,60}$")
_HOST_LIKE = regex(r"[\w\[]")
_MIXED = regex(r"(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{12}")
_COMMIT = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")


@cache
def _signs() -> tuple[str, ...]:
    return tuple(_SIGNS.split())


def without_secrets(text: str) -> str:
    """The text with each secret replaced by `***`; what is no secret stays as it was written."""
    lowered = text.lower()
    if not any([sign in lowered for sign in _signs()]):
        return text
    text = _KEY_BLOCK.sub(HIDDEN, text)
    text = _URL.sub(lambda match: _without_url_secrets(match.group()), text)
    text = _TOKEN.sub(HIDDEN, text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    text = _SCHEME.sub(lambda match: (match.group(1) or match.group(2)) + HIDDEN, text)
    text = _NETRC.sub(rf"\1{HIDDEN}\2{HIDDEN}", text)
    text = _STATED.sub(rf"\1{HIDDEN}", text)
    for pattern in (_NAMED, _OPTION, _USER_OPTION, _LOGIN_OPTION):
        text = pattern.sub(_hidden_value, text)
    if "@" in text and ":" in text:
        text = _CHUNK.sub(lambda match: _without_login(match.group()), text)
    return text


def _hidden_value(match: re.Match[str]) -> str:
    """The name with its value hidden; a quote that opens the value, and what closes around it, stays."""
    value = match.group()[len(match.group(1)) :]
    if value[0] in "\"'":
        closed = len(value) > 1 and value[-1] == value[0]
        return f"{match.group(1)}{value[0]}{HIDDEN}{value[0] if closed else ''}"
    return match.group(1) + HIDDEN + value[len(value.rstrip(")]},;")) :]


def _without_url_secrets(url: str) -> str:
    """The URL without login and query, and without parts of its path that look like tokens."""
    scheme, _, rest = url.partition("://")
    login = _login_of(rest)
    rest = f"{HIDDEN}@{rest[login:]}" if login else rest
    place, query, _ = rest.partition("?")
    parts = [HIDDEN if _is_token(part) else part for part in place.split("/")]
    return f"{scheme}://{'/'.join(parts)}" + (f"?{HIDDEN}" if query else "")


def _login_of(rest: str) -> int:
    """The length of the login, its @ included, at the start of a URL's rest; a password may hold slashes."""
    authority = rest.partition("/")[0]
    if "@" in authority:
        return authority.rindex("@") + 1
    name, colon, port = authority.partition(":")
    is_host = not colon or port.isdigit() and "." in name or name in ("", "localhost") or name.startswith("[")
    return 0 if is_host or "@" not in rest else rest.rindex("@") + 1


def _is_token(part: str) -> bool:
    """True for a part of a path with a long run of mixed letters and digits; hashes of contents are public."""
    return bool(_MIXED.search(part)) and "." not in part and not _COMMIT.fullmatch(part.rpartition("@")[2])


def _without_login(chunk: str) -> str:
    """`user:password@host` without a scheme: everything between the name before it and the host goes."""
    at = chunk.rfind("@")
    colon = chunk.find(":")
    if not 0 < colon < at or "://" in chunk or HIDDEN in chunk:
        return chunk
    host = chunk[at + 1 :]
    if not _HOST_LIKE.match(host) or host.startswith(("sha256:", "sha512:")) or not _ACCOUNT.search(chunk[:colon]):
        return chunk
    start = max(chunk.rfind(mark, 0, colon) for mark in "=(,;") + 1
    return f"{chunk[:start]}{HIDDEN}@{host}"
