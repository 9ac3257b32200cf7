"""What findings are made of next to code, as tables: known messages, their other causes, and commands of remedies."""

from __future__ import annotations

from collections.abc import Callable

from envkit._startup.records import record
from envkit.tables.loader import table


@table("signatures.csv", "signature")
@record
class Signature:
    """One known message; `signature` is the id of the check that it is for, or `<check id>/<variant>`.

    It does not count in a text that holds one of `unless`: another message there names the cause more exactly. It
    counts only in a text that holds, of each group of words in `also` (`hangs|frozen`), at least one. A variant
    `told-…` is what people write in their own words: it counts where the sentence states it.
    """

    signature: str
    anchor: str  # a plain lower-case part of the message, near which the pattern is tried
    pattern: str
    unless: tuple[str, ...]
    also: tuple[str, ...]
    example: str
    reference: str  # where it was reported

    @property
    def in_own_words(self) -> bool:
        """True for what people write, in contrast to what programs print."""
        return "/told-" in self.signature or "/complaint-told-" in self.signature

    def counts_where(self, says: Callable[[str], bool]) -> bool:
        """Whether the words of the text next to the message, of which `says` tells, are those that it asks for."""
        if any(map(says, self.unless)):
            return False
        return all(any(map(says, group.split("|"))) for group in self.also)


@table("message_causes.csv", "signature", "cause", confidence=("certain", "likely", "possible"))
@record
class MessageCause:
    """How sure a message is of the check that its signature names, and one other cause, or '' where it has none."""

    signature: str  # a signature, or a check's id for all its signatures
    confidence: str
    cause: str  # the check of the other cause
    title: str  # that cause in words, '' for the check's own title
    tell_apart: str  # the command whose output decides


@table("message_ends.csv", "signature")
@record
class MessageEnd:
    """What ends what a message described: words, or a program that used the GPU, where one is after it in the text.

    A message counts only where none does.
    """

    signature: str  # a signature, or a check's id for all its signatures
    words: tuple[str, ...]  # in lower case
    by_use: bool  # whether a Python without a thing does not matter where another one used the GPU
    reference: str  # where both were seen


@table("remedies.csv", "action", "family", "step")
@record
class RemedyStep:
    """One command of an action for one family of distributions; `{blank}` is filled in by the check."""

    action: str
    family: str
    step: int
    command: str
    sources: tuple[str, ...]


@table("release_fixes.csv", "signature", "name")
@record
class ReleaseFix:
    """What cures one message of `library-release-mismatch`: a release that still fits, or commands of remedies.csv."""

    signature: str  # the variant that the message is called by
    name: str  # what the message has to contain, where only some of them are cured by this; '' for all
    advice: str  # `{named}` is what the message names
    requires: tuple[str, ...]  # what pip installs
    action: str  # the commands of remedies.csv that follow, '' for none
    sources: tuple[str, ...]
