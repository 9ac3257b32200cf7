"""Where a text says that what a message told of is over: `data/message_ends.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from envkit.ingest.text import Text
from envkit.tables.findings import MessageEnd
from envkit.tables.loader import read

_THEN = "&"  # between words of which the second stand somewhere behind the first


def ended(text: Text, signature: str) -> int:
    """The last place at which what such messages tell of is over, -1 where there is none: earlier ones do not count."""
    ends = (*_ends().get(signature, ()), *_ends().get(signature.partition("/")[0], ()))
    return max((_last(text, words) for words in ends), default=-1)


def _last(text: Text, words: str) -> int:
    """Where `words` last begin; of `reboot&| nvidia-smi` the reboot that such a table follows."""
    first, _, then = words.rpartition(_THEN)
    if not text.says(then):
        return -1
    place = text.flat.rfind(then)
    return text.flat.rfind(first, 0, place) if first else place


@cache
def _ends() -> Mapping[str, tuple[str, ...]]:
    return {row.signature: row.words for row in read(MessageEnd)}
