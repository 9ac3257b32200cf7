"""Hides what is a secret by its own form: tokens of issuers, keys, hashes of passwords."""

from __future__ import annotations

from functools import cache

from envkit._startup.regex import regex
from envkit.privacy.secret_values import HIDDEN
from envkit.tables.loader import read
from envkit.tables.secrets import SecretPrefix

_KEY_BLOCK = regex(
    r"-----BEGIN (?:[ A-Z0-9]{0,40}PRIVATE KEY|OpenVPN Static key)[ A-Z\d]{0,10}-----"
    r"[\s\S]*?(?:-----END[ A-Za-z0-9]{0,60}-----|\Z)"
)
_PUTTY_BLOCK = regex(r"(Private-Lines: \d{1,3}\n)(?:[A-Za-z0-9+/=]{1,80}(?:\n|$)){1,99}")
# as /etc/shadow, htpasswd, notebook servers and boot loaders keep them
_PASSWORD_HASH = regex(
    r"\$(?:[156y7]|2[abxy]|apr1|argon2(?:id|i|d)|pbkdf2[\w-]{0,12}|scrypt|sha\d{1,3})\$[^\s:\"'`]{8,400}"
    r"|\bgrub\.pbkdf2\.sha\d{1,3}\.[0-9A-F.]{8,800}"
)
_OTHER = regex(
    r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{30,}"  # of bots of Telegram
    r"|(?<![\w~.])[\w~.]{3}\dQ~[\w~.-]{31,34}"  # of applications of Azure
    r"|(?<![\w.-])[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,40}"  # of bots of Discord
    r"|(?<![\w-])[\w-]{10,20}\.atlasv1\.[\w-]{40,80}"
    r"|(?<=\*\*\*[,:;|\t ])(?=[A-Za-z0-9]{0,39}[A-Z/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"  # beside AWS's id of a key
    r"|(?<![\w-])(?=[A-Z-]{0,29}\d)(?=[\d-]{0,29}[A-Z])(?:[A-Z0-9]{5}-){4}[A-Z0-9]{5}(?![\w-])"  # keys of products
    r"|(?<![\w-])(?:\d{6}-){7}\d{6}(?![\w-])"  # of BitLocker
    r"|(?<![\w-])[0-9a-f]{32}-us\d{1,2}(?![\w-])"  # of Mailchimp
    r"|(?<![\w.-])[a-z0-9]{6}\.(?=[a-z]{0,15}\d)(?=[0-9]{0,15}[a-z])[a-z0-9]{16}(?![\w.-])"  # to join a cluster
    r"|(?<=::server:)[0-9a-f]{16,64}|(?<=::node:)[0-9a-f]{16,64}"
    r"|(?<![\w.-])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}(?!\w)"  # of Airtable
)
_REST = {
    "word": regex(r"[A-Za-z0-9_-]*(?:(?:\.|%2[eE])[A-Za-z0-9_-]{1,4000}){0,4}={0,2}"),
    "hex": regex(r"[0-9a-f]*"),
    "upper": regex(r"[A-Z0-9]*"),
    "lines": regex(r"[A-Za-z0-9+/]*={0,2}(?:\n[> \t]{0,8}[A-Za-z0-9+/]{16,80}={0,2})*"),
}
_ONE_WORD = regex(r"[a-z]{30,}")  # too long to be one
_TELLING = regex(r"[A-Z0-9]")  # names of functions and packages have neither: `hf_hub_download`, `sk-learn`


@cache
def prefixes() -> tuple[SecretPrefix, ...]:
    """How tokens of issuers begin."""
    return read(SecretPrefix)


def without_keys(text: str) -> str:
    """The text without blocks of private keys."""
    if "PRIVATE KEY" in text or "Static key" in text:
        text = _KEY_BLOCK.sub(HIDDEN, text)
    return _PUTTY_BLOCK.sub(rf"\1{HIDDEN}\n", text) if "Private-Lines" in text else text


def without_tokens(text: str) -> str:
    """The text without tokens of known issuers, and without hashes of passwords."""
    for row in prefixes():
        if row.prefix in text:
            text = _without(row, text)
    if "$" in text or "grub." in text:
        text = _PASSWORD_HASH.sub(HIDDEN, text)
    return _OTHER.sub(HIDDEN, text)


def _without(row: SecretPrefix, text: str) -> str:
    parts = []
    done = 0
    at = text.find(row.prefix)
    while at >= 0:
        end = at + len(row.prefix)
        rest = None if text[max(0, at - 1) : at].isalnum() else _REST[row.letters].match(text, end)
        if rest:
            end = rest.end()  # what is no token holds none
            if len(rest.group()) >= row.least and (_TELLING.search(rest.group()) or _ONE_WORD.fullmatch(rest.group())):
                parts.append(text[done:at] + HIDDEN)
                done = end
        at = text.find(row.prefix, end)
    return "".join(parts) + text[done:]
