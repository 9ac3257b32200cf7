"""Bytes become text: UTF-8, or the UTF-16 and UTF-32 that Windows' shells write when their output is sent to a file."""

from __future__ import annotations

import codecs

_MARKS = (  # the longer first: UTF-32's mark begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_SAMPLE = 4096  # bytes that tell enough
_MANY = 0.6  # of every second byte; Latin letters in UTF-16 have a NUL in each


def decoded(data: bytes) -> str:
    """The text that `data` holds, by its byte order mark or, without one, by where its NULs stand."""
    return data.decode(marked(data) or _without_mark(data[:_SAMPLE]), "replace")


def marked(data: bytes) -> str:
    """The encoding that the byte order mark names, '' without one."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), "")


def _without_mark(sample: bytes) -> str:
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        nulls, others = sample[offset::2], sample[1 - offset :: 2]
        if nulls and nulls.count(0) > _MANY * len(nulls) and others.count(0) < (1 - _MANY) * len(others):
            return name
    return "utf-8"
