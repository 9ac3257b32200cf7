"""Where a text says that what a message told of is over: `data/message_ends.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT
from envkit.ingest.computed import settled
from envkit.ingest.text import Text
from envkit.tables.findings import MessageEnd
from envkit.tables.loader import read

_OLDER_BOOT = regex(r"(?:-b|--boot)[ =]?-(?:[2-9]|\d{2,4})\b")
_LONGEST_ANSWER = 100  # lines below a command that are looked through
_THEN = "&"  # between words of which the second stand somewhere behind the first


def ended(text: Text, signature: str) -> int:
    """The last place at which what such messages tell of is over, -1 where there is none: earlier ones do not count."""
    return max((_last(text, words) for end in _ends_of(signature) for words in end.words), default=-1)


def over(text: Text, signature: str, offset: int) -> bool:
    """Whether such a message at `offset` is of a look at one Python, before another one used the GPU."""
    return any(end.by_use for end in _ends_of(signature)) and settled(text, offset)


def _last(text: Text, words: str) -> int:
    """Where `words` last begin; of `reboot&| nvidia-smi` the reboot that such a table follows."""
    first, _, then = words.rpartition(_THEN)
    if not text.says(then):
        return -1
    place = text.flat.rfind(then)
    return text.flat.rfind(first, 0, place) if first else place


def of_an_older_boot(text: Text, offset: int) -> bool:
    """Whether a line was asked for from an older boot than the last one, where nvidia-smi shows that all is well since.

    The log of the boot before this one may hold what the text is about.
    """
    if not (text.says("journalctl") and text.says("driver version:")):
        return False
    index = text.index(offset)
    for line in reversed(text.lines[max(index - _LONGEST_ANSWER, 0) : index]):
        if "journalctl" in line:
            return bool(_OLDER_BOOT.search(line))
        if PROMPT.match(line):
            return False
    return False


def _ends_of(signature: str) -> tuple[MessageEnd, ...]:
    ends = _ends()
    return tuple(ends[name] for name in (signature, signature.partition("/")[0]) if name in ends)


@cache
def _ends() -> Mapping[str, MessageEnd]:
    return {row.signature: row for row in read(MessageEnd)}
