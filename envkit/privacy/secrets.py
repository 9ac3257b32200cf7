"""Secrets have no place in any output: tokens, passwords, logins and private keys become `***`.

A secret is known by its own form (`tokens`), by the name in front of it (`named_secrets`), by the command that takes it
(`secret_commands`), by its place in an address or a header (`logins`), or by being random (`likeness`). All of them are
bounded or take what they have looked at, so that the time grows with the text.
"""

from __future__ import annotations

from functools import lru_cache

from envkit.privacy.likeness import without_random_runs
from envkit.privacy.logins import without_headers, without_logins, without_urls
from envkit.privacy.named_secrets import without_named
from envkit.privacy.plain_letters import drawn, folded, lowered
from envkit.privacy.secret_commands import without_arguments
from envkit.privacy.secret_values import HIDDEN
from envkit.privacy.tokens import without_keys, without_tokens
from envkit.privacy.wrapped_lines import with_commands_joined, without_broken_rest

__all__ = ["HIDDEN", "without_secrets"]

_NAME = 12  # characters that no secret has by its form alone: the shortest token of an issuer has 14
_SHORT, _KEPT = 256, 8192  # characters of a text, and how many of them: a fleet's machines say mostly the same

_JOINTS = str.maketrans("", "", "._-")


def without_secrets(text: str) -> str:
    """The text with each secret replaced by `***`; what is no secret stays as it was written.

    A text in which characters that are not drawn hide a secret loses them.
    """
    if len(text) <= _NAME and _is_name(text):
        return text
    return _of_short(text) if len(text) <= _SHORT else _of_any(text)


def _is_name(text: str) -> bool:
    """True for a version or a name, of which half of a machine's facts consist: no sign of an assignment is in it."""
    return text.isascii() and text.translate(_JOINTS).isalnum()


@lru_cache(maxsize=_KEPT)
def _of_short(text: str) -> str:
    return _of_any(text)


def _of_any(text: str) -> str:
    plain = drawn(text)
    if plain != text:
        hidden = _without_wrapped(plain)
        return hidden if hidden != plain else text
    return _without_wrapped(text)


def _without_wrapped(text: str) -> str:
    return _without_secrets(with_commands_joined(text, _without_secrets))


def _without_secrets(text: str) -> str:
    text = without_tokens(without_urls(without_keys(text)))
    text = without_headers(text, lowered(text))
    text = without_arguments(text)
    text = without_named(text, folded(text))
    return without_random_runs(without_broken_rest(without_logins(text)), HIDDEN)
