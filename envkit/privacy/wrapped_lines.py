"""Finds secrets in commands that a backslash carries on to the next line, and the rest of those that a screen broke.

A command over several lines is looked at as the one line that a shell makes of it. Only where that hides more than its
lines did by themselves, it is shown as one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from envkit._startup.regex import regex
from envkit.privacy.likeness import looks_random
from envkit.privacy.secret_values import HIDDEN

_CONTINUED = regex(r"^[^\n]*\\\r?\n(?:[^\n]*\\\r?\n)*[^\n]*", re.MULTILINE)
_BREAK = regex(r"(?:(?<=[\"'] )|(?<=[\"']))(\\\r?\n[ \t]*(?=[\"']))|\\\r?\n(?:[ \t]{0,8}(?:>|#)(?=[ \t]))?([ \t]*)")
_BROKEN = regex(r"(\*\*\*)((?:\r?\n[> \t]{0,12}[A-Za-z0-9+/_.~=-]{12,4000}(?=[\"',;)\]}]{0,3}\s{0,3}(?:\n|\Z))){1,60})")
_REST = regex(r"(\r?\n[> \t]{0,12})([A-Za-z0-9+/_.~=-]{12,4000})")
_DIGEST = regex(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")


def with_commands_joined(text: str, without_secrets: Callable[[str], str]) -> str:
    """The text without the secrets of its commands that go on over several lines."""
    if "\\\n" not in text and "\\\r\n" not in text:
        return text
    return _CONTINUED.sub(lambda command: _hidden(command.group(), without_secrets), text)


def without_broken_rest(text: str) -> str:
    """The text without what goes on, on lines of its own, behind a secret that was hidden."""
    return _BROKEN.sub(_without_rest, text) if f"{HIDDEN}\n" in text or f"{HIDDEN}\r\n" in text else text


def _hidden(command: str, without_secrets: Callable[[str], str]) -> str:
    joined = _joined(command)
    hidden = without_secrets(joined)
    if hidden == joined or hidden == _joined(without_secrets(command)):
        return command
    return hidden


def _joined(command: str) -> str:
    """The command on one line; two texts that a program puts together stay on theirs."""
    return _BREAK.sub(lambda found: found[1] and "\n" or (" " if found[2] else ""), command)


def _without_rest(match: re.Match[str]) -> str:
    shown = match[1]
    for line in _REST.finditer(match[2]):
        if _DIGEST.fullmatch(line[2]) or not any(map(looks_random, re.split(r"[.]", line[2]))):
            return shown + match[2][line.start() :]
        shown = f"{shown}{line[1]}{HIDDEN}"
    return shown
