"""Hides logins: in addresses with and without a scheme, in headers, and what else a URL carries."""

from __future__ import annotations

import re
from base64 import b64decode

from envkit._startup.regex import regex
from envkit.privacy.secret_values import HIDDEN

_HEADER = regex(
    r"(?i)([\"']?)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{1,30}(?:token|key|auth|signature))"
    r"((?:\\{0,2}[\"'])?(?:\s{0,4}(?:[:=]|,(?=\s{0,4}[bruf]?[\"']))\s{0,4}|[ \t]{1,4}(?=[\"'])|%3[Aa](?:%20|(?!%20)))"
    r"(?:[bruf](?=[\"']))?"
    r"((?:\\{0,2}[\"'])?))(?![\s\"'\\]{0,8}\*\*\*)"
    r"(?:(?<=[\"'])[^\"'\n\\]+|[^\n]+)"
)
_SCHEME = regex(
    r"\b((?i:(?:bearer|negotiate)\s{1,4}|bearer(?:[:=]\s{0,4}|%20)[\"']?))(?!\*\*\*)[A-Za-z0-9+/=._~-]{6,}"
    r"|\b((?i:basic|digest)\s{1,4})(?=[A-Za-z+/]{0,400}[0-9=])[A-Za-z0-9+/]{8,}={0,2}"
)
_NETRC = regex(r"(?i)(\blogin\s{1,4})[^\s]{1,200}(\s{1,4}password\s{1,4})(?!%s)[^\s]{1,200}")
_STATED = regex(
    r"(?i)(\b(?:password|passphrase|psk|eap|identified (?:with \w{1,40} )?(?:by|as))\s{1,3}(?:is\s{1,3})?)"
    r"([\"'][^\"'\n]{1,200}[\"'])"
)
_USER_OPTION = regex(
    r"((?<![\w-])(?:-u|-U|--user|--proxy-user)(?:[ \t]{1,4}|=)[\"']?)(?!\d{1,9}:\d{1,9}(?:\s|$))(?![A-Za-z]:\\)"
    # What pip upgrades, or puts into a user's folder, by its address: `-U git+https://…`, `-U name@https://…`
    r"(?!(?:[\w.-]{1,60}(?:\[[\w,.-]{1,60}\])?@)?(?:(?:git|hg|svn|bzr)\+)?(?:https?|ssh|git|svn|ftp|file)"
    r"://[\w.@:*-]{0,90}[./])"
    r"[^\s:\"'/=]{1,120}:[^\s\"']+"
)
_URL = regex(r"(?<![a-zA-Z])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://(?:[^\s\"'`/@:<>|]{0,100}:[^\s\"'`@]{1,200}@)?[^\s\"'<>`|]*")
_ENCODED_LOGIN = regex(r"((?i:%3a%2f%2f))(?!\*\*\*)[^\s%]{0,80}(?i:%3a)[^\s\"']{1,200}?(?=%40)")
_ENCODED_PAIR = regex(r"(?<![\w.%-])([\w.-]{1,80}%3[aA])(?!\*\*\*)[^\s%\"']{1,200}(?=%40[\w.-])")
_BASE64 = regex(
    r"(?<![A-Za-z0-9+/_=.-])(?=[a-z0-9+/]{0,40}[A-Z])(?=[A-Z0-9+/]{0,40}[a-z])[A-Za-z0-9+/]{12,400}={0,2}"
    r"(?![A-Za-z0-9+/_=-])"
)
_LOGIN_IN_BASE64 = regex(rb"[\w.@-]{1,60}:[!-~]{4,200}")
_THIN = regex(r"(:thin:[^\s/@]{1,80}/)[^\s@]{1,200}(?=@)")
_PASSWORD_FILE = regex(
    r"^([\w.*-]{1,200}:(?:\d{4,5}|\*):[\w*.-]{1,80}:[A-Za-z_][\w.-]{0,80}:)(?:\\.|[^\s:\\]){1,200}$", re.MULTILINE
)
_CHUNK = regex(r"[^\s\"'<>`|]+")
_ACCOUNT = regex(r"[A-Za-z][\w.+%~-]{0,60}$")
_HOST_LIKE = regex(r"[\w\[]")
_MIXED = regex(r"(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{12}")
_COMMIT = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TOKEN_FOLLOWS = "t"  # `/t/<token>/` in the address of a conda channel
_HOOK = regex(r"(?:web)?hooks?(?:b2)?$")  # a part of an address behind which only its owner knows what follows
_NO_SECRET = "git@"  # everybody's name at a host of repositories
_TELLING = regex(r"[A-Z0-9]")
_BOT = regex(r"(bot\d{1,20}:)[^/]+")  # of Telegram


def without_urls(text: str) -> str:
    """The text without logins, queries and tokens in its URLs."""
    if "://" in text:
        text = _URL.sub(lambda match: _without_url_secrets(match.group()), text)
    text = _ENCODED_LOGIN.sub(rf"\1{HIDDEN}", text) if "%2f%2f" in text or "%2F%2F" in text else text
    return _ENCODED_PAIR.sub(rf"\1{HIDDEN}", text) if "%40" in text else text


def without_headers(text: str, lowered: str) -> str:
    """The text without what headers of HTTP and lines of netrc say."""
    if any(sign in lowered for sign in ("authorization", "cookie", "x-")):
        text = _HEADER.sub(_without_header, text)
    if any(sign in lowered for sign in ("bearer", "negotiate", "basic", "digest")):
        text = _SCHEME.sub(lambda match: (match.group(1) or match.group(2)) + HIDDEN, text)
    if "password" in lowered and "login" in lowered:
        text = _NETRC.sub(rf"\1{HIDDEN}\2{HIDDEN}", text)
    if any(sign in lowered for sign in ("password", "passphrase", "psk", "eap", "identified")):
        text = _STATED.sub(rf"\1{HIDDEN}", text)
    return text


def without_logins(text: str) -> str:
    """The text without logins that stand in no URL."""
    text = _BASE64.sub(lambda run: HIDDEN if _is_login(run.group()) else run.group(), text)
    if ":" not in text:
        return text
    if "-u" in text or "-U" in text or "-user" in text:
        text = _USER_OPTION.sub(rf"\1{HIDDEN}", text)
    text = _PASSWORD_FILE.sub(rf"\1{HIDDEN}", text)
    if "@" not in text:
        return text
    text = _THIN.sub(rf"\1{HIDDEN}", text) if ":thin:" in text else text
    return _CHUNK.sub(lambda match: _without_login(match.group()), text)


def _is_login(run: str) -> bool:
    """True for `user:password` in base64, as a header has it."""
    body = run.rstrip("=")
    if len(body) % 4 == 1:
        return False
    return bool(_LOGIN_IN_BASE64.fullmatch(b64decode(body + "=" * (-len(body) % 4))))


def _without_header(match: re.Match[str]) -> str:
    """The header without its value, which ends with the quote that it opened in."""
    quote, name, sign, opened = match.group(1, 2, 3, 4)
    value = match.group()[len(quote) + len(name) + len(sign) :]
    end = value.find(quote) if quote and not opened else -1
    return f"{quote}{name}{sign}{HIDDEN}{value[end:] if end >= 0 else ''}"


def _without_url_secrets(url: str) -> str:
    """The URL without login and query, and without parts of its path that look like tokens."""
    scheme, _, rest = url.partition("://")
    login = _login_of(rest)
    rest = f"{HIDDEN}@{rest[login:]}" if login and rest[:login] != _NO_SECRET else rest
    place, query, _ = rest.partition("?")
    parts = place.split("/")
    shown = [
        HIDDEN if _is_token(part) or part and before == _TOKEN_FOLLOWS else part
        for before, part in zip(["", *parts], parts, strict=False)
    ]
    if parts[1:6:2] == ["p", "n", "b"]:  # of Oracle's cloud, open to whoever knows the address
        shown[2] = HIDDEN
    shown = _without_hooks(parts, shown)
    return f"{scheme}://{'/'.join(shown)}" + (f"?{HIDDEN}" if query else "")


def _without_hooks(parts: list[str], shown: list[str]) -> list[str]:
    """The parts of an address without those that make it a hook, which everybody who knows them can call."""
    hook = next(
        (at for at, part in enumerate(parts) if part and (_HOOK.match(part) or part.startswith("hooks."))), None
    )
    if hook is not None:
        shown = [
            HIDDEN if at > hook and _TELLING.search(part) and "." not in part else part for at, part in enumerate(shown)
        ]
    return [_BOT.sub(rf"\1{HIDDEN}", part) for part in shown]


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
    if not 0 < colon < at or "@" in chunk[:colon] or "://" in chunk or HIDDEN in chunk:
        return chunk
    host = chunk[at + 1 :]
    if not _HOST_LIKE.match(host) or host.startswith(("sha256:", "sha512:")) or not _ACCOUNT.search(chunk[:colon]):
        return chunk
    start = max(chunk.rfind(mark, 0, colon) for mark in "=(,;") + 1
    return f"{chunk[:start]}{HIDDEN}@{host}"
