"""Hides what commands take without a telling name, by a table of them: `docker login -p …`, `echo … | sudo -S`."""

from __future__ import annotations

import re
from functools import cache

from envkit.privacy.printed_secrets import without_printed
from envkit.privacy.secret_forms import WORD, without_forms
from envkit.privacy.secret_records import without_records
from envkit.privacy.secret_values import HIDDEN
from envkit.tables.loader import read
from envkit.tables.secrets import SecretCommand

_MOST_OPTIONS = 4
_LOGIN = r"[\"']?[^\s:%/\"'@]{1,80}[:%/](?!\*\*\*|/)[^\s\"'|;&]{1,400}"
# what may stand between a command and the secret: the rest of its last word, options, the name of an account
_BETWEEN = {
    "word": r"[\w-]{0,40}(?: --?[a-z-]{1,20}){0,3} {1,4}(?:[a-z][a-z-]{0,30} (?=\S))?",
    "argument": r"(?: --?[A-Za-z-]{1,20}){0,3}[ \t]{1,8}",
    "password": r" {1,4}(?:-\w{1,2} ){0,3}",
}
_NO_COMMAND = r"(?![a-z-]{1,40}(?:\s|$))"  # `wandb login failed`


def without_arguments(text: str) -> str:
    """The text without the passwords and tokens that its commands take by their place."""
    for program, rows in _commands():
        if program in text:
            for row in rows:
                if row.command in text:
                    text = _without(row, text)
    return without_records(without_forms(without_printed(text)))


def _without(row: SecretCommand, text: str) -> str:
    """The text without what this command takes; of several options in one command each is found by its own turn."""
    for _ in range(_MOST_OPTIONS):
        text, found = _pattern(row).subn(rf"\1{HIDDEN}", text)
        if not found or not row.option:
            break
    return text


@cache
def _commands() -> tuple[tuple[str, tuple[SecretCommand, ...]], ...]:
    """The commands by their program: few texts hold any of these words."""
    found: dict[str, list[SecretCommand]] = {}
    for row in read(SecretCommand):
        if row.value != "printed":
            found.setdefault(row.command.partition(" ")[0], []).append(row)
    return tuple((program, tuple(rows)) for program, rows in found.items())


@cache
def _pattern(row: SecretCommand) -> re.Pattern[str]:
    return re.compile(pattern_of(row))


def pattern_of(row: SecretCommand) -> str:
    """The expression that finds the secret behind its first group."""
    value = _LOGIN if row.value == "password" else WORD
    command = rf"(?<![\w-]){re.escape(row.command)}"
    if row.option:
        return rf"({command}(?=\s)[^\n|;&]{{0,200}}?\s{row.option}[ =]{{0,2}}){value}"
    no_command = "" if row.value == "argument" else _NO_COMMAND
    return rf"({command}{_BETWEEN[row.value]}){no_command}{value}"
