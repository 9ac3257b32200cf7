"""Hides what commands take without a telling name, by a table of them: `docker login -p …`, `echo … | sudo -S`."""

from __future__ import annotations

import re
from functools import cache

from envkit._startup.regex import regex
from envkit.privacy.secret_forms import WORD, without_forms
from envkit.tables.loader import read
from envkit.tables.secrets import SecretCommand

_HIDDEN = "***"
_MOST_OPTIONS = 4
_LOGIN = r"[\"']?[^\s:%/\"'@]{1,80}[:%/](?!\*\*\*|/)[^\s\"'|;&]{1,400}"
# what may stand between a command and the secret: the rest of its last word, options, the name of an account
_BETWEEN = {
    "word": r"[\w-]{0,40}(?: --?[a-z-]{1,20}){0,3} {1,4}(?:[a-z][a-z-]{0,30} (?=\S))?",
    "password": r" {1,4}(?:-\w{1,2} ){0,3}",
}
_NO_COMMAND = r"(?![a-z-]{1,40}(?:\s|$))"  # `wandb login failed`
_CLUSTER_SECRET = regex(
    r"^([ \t]{0,40})(?:data|stringData):[ \t]{0,8}\n((?:\1[ \t]{1,40}[^\s:]{1,120}:[^\n]*(?:\n|\Z)){1,200})",
    re.MULTILINE,
)
_ACCOUNTS = regex(  # what stands below chpasswd, in a shell and in cloud-init
    r"(\bchpasswd\b[^\n]{0,80}\n(?:[ \t]{0,20}(?:list|expire|users):[^\n]{0,40}\n){0,2})"
    r"((?:[ \t]{0,20}(?:- )?[\"']?[A-Za-z_][\w.-]{0,31}:[^\s:][^\n]{0,200}(?:\n|\Z)){1,50})"
)
_ACCOUNT = regex(r"^([^:\n]{1,60}:)[^\n]+", re.MULTILINE)
_ENTRY = regex(r"^([ \t]{1,80}[^\s:]{1,120}:[ \t]{0,8})[^\n]+", re.MULTILINE)
_SIGNED = regex(r"\bkind:\s{0,4}Secret\b")


def without_arguments(text: str) -> str:
    """The text without the passwords and tokens that its commands take by their place."""
    for row in _commands():
        if row.command.partition(" ")[0] in text and row.command in text:
            text = _without(row, text)
    text = without_forms(text)
    if "chpasswd" in text:
        text = _ACCOUNTS.sub(lambda match: match[1] + _ACCOUNT.sub(rf"\1{_HIDDEN}", match[2]), text)
    if "Secret" in text and _SIGNED.search(text):
        text = _CLUSTER_SECRET.sub(_without_entries, text)
    return text


def _without(row: SecretCommand, text: str) -> str:
    """The text without what this command takes; of several options in one command each is found by its own turn."""
    for _ in range(_MOST_OPTIONS):
        text, found = _pattern(row).subn(rf"\1{_HIDDEN}", text)
        if not found or not row.option:
            break
    return text


@cache
def _commands() -> tuple[SecretCommand, ...]:
    return read(SecretCommand)


@cache
def _pattern(row: SecretCommand) -> re.Pattern[str]:
    return re.compile(pattern_of(row))


def pattern_of(row: SecretCommand) -> str:
    """The expression that finds the secret behind its first group."""
    value = WORD if row.value == "word" else _LOGIN
    command = rf"(?<![\w-]){re.escape(row.command)}"
    if row.option:
        return rf"({command}(?=\s)[^\n|;&]{{0,200}}?\s{row.option}[ =]{{0,2}}){value}"
    return rf"({command}{_BETWEEN[row.value]}){_NO_COMMAND}{value}"


def _without_entries(match: re.Match[str]) -> str:
    start = match.start(2) - match.start()
    return match.group()[:start] + _ENTRY.sub(rf"\1{_HIDDEN}", match.group()[start:])
