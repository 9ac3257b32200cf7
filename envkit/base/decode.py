"""Bytes become text: UTF-8, or the UTF-16 and UTF-32 that Windows' shells write when their output is sent to a file."""

from __future__ import annotations

import codecs

from envkit._startup.regex import regex

_MARKS = (  # the longer first: UTF-32's mark begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_LONG, _BLOCK = 4 << 20, 1 << 20  # bytes
_ASTRAL = regex("[\U00010000-\U0010ffff]")
_SAMPLE = 4096  # bytes that tell enough
_LEGIBLE = 65536  # characters
_SIGNALS = regex("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_FEW = 0.05  # of the characters; random bytes have twice as many
_MANY = 0.6  # of every second byte; Latin letters in UTF-16 have a NUL in each


def decoded(data: bytes) -> str:
    """The text that `data` holds, by its byte order mark or, without one, by where its NULs are.

    In a long one what is beyond the basic plane, most of it pictures, becomes a replacement character: a single one
    makes every character of the text, and of each copy of it, four bytes wide.
    """
    encoding = marked(data) or _without_mark(data[:_SAMPLE])
    if len(data) <= _LONG:
        return data.decode(encoding, "replace")
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
    pieces = [_ASTRAL.sub("\ufffd", decoder.decode(block)) for block in blocks]
    return "".join([*pieces, decoder.decode(b"", final=True)])


def legible(text: str) -> bool:
    """False for what is not a text: too many of its characters are signals that no program prints.

    NULs do not count, of which a crash leaves long rows in a log.
    """
    sample = text[:_LEGIBLE]
    return len(_SIGNALS.findall(sample)) <= _FEW * (len(sample) - sample.count("\0"))


def marked(data: bytes) -> str:
    """The encoding that the byte order mark names, '' without one."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), "")


def _without_mark(sample: bytes) -> str:
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        nulls, others = sample[offset::2], sample[1 - offset :: 2]
        if nulls and nulls.count(0) > _MANY * len(nulls) and others.count(0) < (1 - _MANY) * len(others):
            return name
    return "utf-8"
