"""Hides what a command printed on the line below it: `$ gh auth token`, `>>> hf_token`, `> echo %HF_TOKEN%`."""

from __future__ import annotations

import re
from functools import cache

from envkit._startup.regex import regex
from envkit.privacy.secret_names import Strength, judged
from envkit.privacy.secret_values import HIDDEN
from envkit.tables.loader import read
from envkit.tables.secrets import SecretCommand

_ASKED = regex(  # a prompt, a command, and an answer of one word
    r"^((?:[^\n$#%>»❯➜]{0,120}[$#%>»❯➜]|>>>|\.\.\.|In \[\d{1,5}\]:|\+{1,3}) {1,2})([^\n]{1,400})\n"
    r"((?:Out\[\d{1,5}\]: )?[bu]?[\"']?)([^\s\"']{4,4000})(?=[\"']?[ \t]{0,8}\r?(?:\n|\Z))",
    re.MULTILINE,
)
_PRINTS = regex(r"(?:sudo )?(?:cat|echo|printenv|print|type|less|head|tail|base64|jq|[Gg]et-[Cc]ontent|Write-Host)\b")
_VALUE_ALONE = regex(
    r"[$%(]?(?:os\.getenv\(|os\.environ\.get\()?[\"']?(?:env:|os\.environ|[\w.]{1,80})(?:\[[\"'][\w.-]{1,80}[\"']\]|[\w.:]{0,80})%?[\"')]{0,2}"
)
_LAST_NAME = regex(r"([\w.-]{1,80})[\"')\]}%;\s]{0,8}$")
_OF_THE_SYSTEM = ("/etc/passwd", "/etc/shadow")  # lists of accounts
_IS_SHOWN = regex(r"\$\?|\|\s{0,4}(?:wc|md5sum|sha\d{1,3}sum)\b")


def without_printed(text: str) -> str:
    """The text without the secrets that its commands printed."""
    return _ASKED.sub(_shown, text) if "\n" in text else text


def _shown(match: re.Match[str]) -> str:
    prompt, command, opened, answer = match.groups()
    if answer.startswith(("***", "$", "/", "~")) or answer in command or not _prints_secret(command.strip()):
        return match.group()
    return f"{prompt}{command}\n{opened}{HIDDEN}"


def _prints_secret(command: str) -> bool:
    if any(place in command for place in _OF_THE_SYSTEM) or _IS_SHOWN.search(command):
        return False
    if any(row.command in command and _pattern(row).search(command) for row in _printers()):
        return True
    name = _LAST_NAME.search(command)
    asks = _PRINTS.match(command) or _VALUE_ALONE.fullmatch(command)
    return bool(name and asks and judged(name[1].strip(".-")) >= Strength.KEY)


@cache
def _printers() -> tuple[SecretCommand, ...]:
    return tuple(row for row in read(SecretCommand) if row.value == "printed")


@cache
def _pattern(row: SecretCommand) -> re.Pattern[str]:
    return re.compile(printer_pattern(row))


def printer_pattern(row: SecretCommand) -> str:
    """The expression for a command that prints a secret."""
    option = rf"[^\n|;&]{{0,200}}?\s{row.option}" if row.option else ""
    return rf"(?<![\w-]){re.escape(row.command)}(?![\w-]){option}"
