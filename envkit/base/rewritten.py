"""The bytes of a text file in which some lines were changed: every other line stays, to the byte, what it was."""

from __future__ import annotations

import codecs
from difflib import SequenceMatcher

_WIDE = (  # the longer first: UTF-32's mark begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def rewritten(data: bytes, old: str, new: str) -> bytes:
    """The file of these bytes, which was read as the text `old`, so that it reads as `new`.

    Its byte order mark, the way its lines end, and whether the last one ends stay, and in UTF-8 also bytes that are
    none of it, which `old` holds as replacement characters.
    """
    ending = return_of(old)
    before, after = lines_of(old), lines_of(new)
    if old.endswith("\n") is not new.endswith("\n"):
        after = [*after, ""] if old.endswith("\n") else after[:-1]
    for mark, encoding in _WIDE:
        if data.startswith(mark):
            return mark + f"{ending}\n".join(after).encode(encoding)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    kept = data.removeprefix(mark).split(b"\n")
    made: list[bytes] = []
    for tag, start, end, first, last in SequenceMatcher(None, before, after).get_opcodes():
        made += kept[start:end] if tag == "equal" else [f"{line}{ending}".encode() for line in after[first:last]]
    if made and not old.endswith("\n"):
        made[-1] = made[-1].removesuffix(b"\r")
    return mark + b"\n".join(made)


def return_of(text: str) -> str:
    """The carriage return that ends each line of a text from Windows, as its first one tells; "" elsewhere."""
    return "\r" if text.partition("\n")[0].endswith("\r") else ""


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends, whichever those are; the last is empty where the text ends with one."""
    return [line.removesuffix("\r") for line in text.split("\n")]
