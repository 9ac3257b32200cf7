"""Secrets have no place in any output: tokens, passwords, logins and private keys become `***`.

A secret is known by its own form (`tokens`), by the name in front of it (`named_secrets`), by the command that takes it
(`secret_commands`), by its place in an address or a header (`logins`), or by being random (`likeness`). All of them are
bounded or take what they have looked at, so that the time grows with the text.
"""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.privacy.likeness import without_random_runs
from envkit.privacy.logins import without_headers, without_logins, without_urls
from envkit.privacy.named_secrets import HIDDEN, without_named
from envkit.privacy.secret_commands import without_arguments
from envkit.privacy.tokens import without_keys, without_tokens

_UNDRAWN = regex(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]|\x1b\\[[0-9;]{0,20}m"
)
__all__ = ["HIDDEN", "without_secrets"]


def without_secrets(text: str) -> str:
    """The text with each secret replaced by `***`; what is no secret stays as it was written.

    A text in which characters that are not drawn hide a secret loses them.
    """
    plain = _UNDRAWN.sub("", text)
    if len(plain) < len(text):
        hidden = _without_secrets(plain)
        return hidden if hidden != plain else text
    return _without_secrets(text)


def _without_secrets(text: str) -> str:
    text = without_tokens(without_urls(without_keys(text)))
    text = without_headers(text, _lowered(text))
    text = without_arguments(text)
    text = without_named(text, _lowered(text))
    return without_random_runs(without_logins(text), HIDDEN)


def _lowered(text: str) -> str:
    """The text in lower case with each letter at its place: a few letters would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(sign.lower()[:1] for sign in text)
