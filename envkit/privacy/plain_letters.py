"""Texts as a reader sees them: without characters that are not drawn, and with one letter for all that look alike."""

from __future__ import annotations

import re

from envkit._startup.regex import regex

# not drawn, or drawn as a blank or over the letter before; letters written as HTML writes them
_UNDRAWN = regex(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\u0300-\u034e\u20d0-\u20f0]|\x1b\\[[0-9;]{0,20}m"
)
_ENTITY = regex(r"&#(?:(\d{2,3})|[xX]([0-9a-fA-F]{2}));")
# Cyrillic and Greek letters that look like Latin ones, and those
_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТХҮаеѕіјорсухԁһʟΑΒΕΖΗΙΚΜΝΟΡΤΥΧοɡ",
    "ABESIJKMHOPCTXYaesijopcyxdhLABEZHIKMNOPTYXog",
)
_FULL_WIDTH = {sign: sign - 0xFEE0 for sign in range(0xFF01, 0xFF5F)}
_MIXED = regex(r"[^\W\d_]{2,64}")
_LATIN = regex(r"[A-Za-z]")


def drawn(text: str) -> str:
    """The text without what is not drawn."""
    text = _UNDRAWN.sub("", text)
    return _ENTITY.sub(_letter, text) if "&#" in text else text


def folded(text: str) -> str:
    """The text with Latin letters for those of words of two scripts, and usual signs for wide ones, at their places."""
    if text.isascii():
        return text
    text = text.translate(_FULL_WIDTH)
    return _MIXED.sub(lambda word: _in_latin(word.group()), text)


def _letter(entity: re.Match[str]) -> str:
    letter = chr(int(entity[1]) if entity[1] else int(entity[2], 16))
    return letter if letter.isascii() and letter.isalnum() or letter == "_" else entity.group()


def _in_latin(word: str) -> str:
    if word.isascii() or not _LATIN.search(word):
        return word
    latin = word.translate(_ALIKE)
    return latin if latin.isascii() else word


def lowered(text: str) -> str:
    """The text in lower case with each letter at its place: a few letters would become two."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(sign.lower()[:1] for sign in text)
