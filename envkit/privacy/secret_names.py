"""Which names are those of secrets: judged by their words, of which `secret_words.csv` tells what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache, lru_cache

from envkit._startup.regex import regex
from envkit.tables.loader import read
from envkit.tables.secrets import SecretWord

_PIECES = regex(r"[^\W_]{1,64}")
_CAMEL = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^A-Za-z\d]+")
_LAST_WORD = regex(r"[^\W\d_]{1,16}\Z")
_NAME_RIGHT = regex(r"[\w.-]{0,64}")
_LONGEST = 64
_VALUE = "value"  # `password-value`
_UNCASED = "\u0590"  # from here on, scripts have no capitals; many join words, or write marks that are no letters
COOKIES = ("session", "sid", "sessionid", "sessid")
_LONG_ENOUGH = 5  # of a word of secrets that ends a run of letters: `vncpasswd`
# signs that a text writes for others before a name: \n, \u0022, %22
_QUALIFIED = regex(r" (?:d[aei]l? |de la |d['’])?([^\W\d_]{2,16})(?![\w.-])")  # `clave de API`
_ESCAPED = {"\\": regex(r"u00[0-9a-fA-F]{2}|x[0-9a-fA-F]{2}|[nrt](?=[A-Z_])"), "%": regex(r"[0-9A-F]{2}")}


class Strength(IntEnum):
    """How much a name says about its value."""

    NONE = 0
    WEAK = 1  # hidden where the value looks random
    MIXED = 2  # hidden where it has capitals, small letters and digits, too
    CHOSEN = 3  # hidden where it looks like what people choose, too
    ASSIGNED = 4  # hidden where `=` follows directly, else as WEAK
    PASS = 5  # hidden where `=` follows directly, else as CHOSEN
    KEY = 6  # hidden unless the value says nothing, or is the path of a file
    STRONG = 7  # hidden unless the value says nothing
    PASSWORD = 8  # the same, but what only stands beside it as CHOSEN

    @property
    def beside(self) -> Strength:
        """What the name says about a value without a sign between them."""
        if self in (Strength.CHOSEN, Strength.PASS, Strength.PASSWORD):
            return Strength.CHOSEN
        return Strength.MIXED if self >= Strength.KEY else Strength.WEAK

    def near(self, name: str) -> Strength:
        """The same for a name that is written as one of a setting: `secret_access_key`, `HF_TOKEN`."""
        return Strength.CHOSEN if self >= Strength.KEY and is_setting(name) else self.beside


def is_setting(name: str) -> bool:
    """True for a name of several words that no sentence holds."""
    return len(_PIECES.findall(name)) > 1


def is_variable(name: str) -> bool:
    """True for the name of a variable of the environment with several words: nothing but its value stands beside it."""
    return name.isupper() and "_" in name and is_setting(name)


@cache
def words_of(role: str) -> frozenset[str]:
    """The words that the table gives this role."""
    return frozenset(row.word for row in read(SecretWord) if row.role == role)


@cache
def stems() -> tuple[str, ...]:
    """What a text holds, in lower case, if it holds the name of a secret."""
    words = sorted((row.word for row in read(SecretWord) if row.role not in ("other", "state", "qualifier")), key=len)
    words = [word.rpartition(" ")[2] for word in words]
    return tuple(word for word in dict.fromkeys(words) if word >= _UNCASED or not _is_held(word, words))


def _is_held(word: str, words: list[str]) -> bool:
    """True for a word that is found where another one is."""
    return any(other in word for other in words if other != word)


@cache
def _secrets() -> frozenset[str]:
    return words_of("secret") | words_of("password")


def names(text: str, lowered: str) -> Iterator[tuple[int, int, Strength]]:
    """Where names of secrets stand in a text, and how strong each is; `lowered` has the same places."""
    for stem in stems():
        at = lowered.find(stem)
        while at >= 0:
            start, end = _whole(text, at) if stem < _UNCASED else (at, at + len(stem))
            name = text[start:end].rstrip(".-")
            before = "" if name.startswith("-") else _before(lowered, start)
            strength = judged(name, before)
            if strength:
                first = start - len(before) - 1 if f"{before} {name}".lower() in _secrets() else start
                yield first, *_qualified(lowered, start + len(name), name, strength)
            at = lowered.find(stem, max(end, at + 1))


def _qualified(lowered: str, end: int, name: str, strength: Strength) -> tuple[int, Strength]:
    """The end of a name, and of the words behind it that say whose key it is, as many languages put them."""
    found = _QUALIFIED.match(lowered, end)
    if found is None or found[1] not in words_of("qualifier"):
        return end, strength
    is_key = name.lower() in words_of("key")
    return found.end(), Strength.STRONG if is_key else strength


def _whole(text: str, at: int) -> tuple[int, int]:
    """The name around a place of the text."""
    start = at
    while start and at - start < _LONGEST and (text[start - 1].isalnum() or text[start - 1] in "_-."):
        start -= 1
    escape = _ESCAPED.get(text[start - 1 : start])
    escaped = escape.match(text, start, at) if escape else None
    found = _NAME_RIGHT.match(text, at)
    return escaped.end() if escaped else start, found.end() if found else at


def _before(lowered: str, start: int) -> str:
    """The word before a name and a space: `API key`."""
    if lowered[start - 1 : start] != " ":
        return ""
    found = _LAST_WORD.search(lowered, max(0, start - 18), start - 1)
    return found.group() if found else ""


@lru_cache(4096)
def judged(name: str, before: str = "") -> Strength:
    """What a name says; `before` is the word in front of it, which counts for a name of one word."""
    if not name.isascii() and name.lower() in _secrets():
        return Strength.PASSWORD if name.lower() in words_of("password") else Strength.STRONG
    words = [word.lower() for piece in _PIECES.findall(name.replace("env.", "")) for word in _split(piece)]
    words = [word for word in words if not word.isdigit()]
    if not words:
        return Strength.NONE
    if len(words) > 1 and words[-1] == _VALUE:
        del words[-1]
    if (
        len(words) == 1
        and before
        and (f"{before} {words[0]}" in _secrets() or before in words_of("other") | words_of("qualifier"))
    ):
        words.insert(0, before)
    strength = _of_words(words) or (Strength.ASSIGNED if _ends_in_pass(name, words[-1]) else Strength.NONE)
    if not _has("other", words) or " ".join(words[-2:]) in _secrets():
        return strength
    if strength.beside is not Strength.CHOSEN or words[-1] in words_of("other"):
        return Strength.WEAK
    return Strength.PASS if words[-1] in words_of("password") else Strength.CHOSEN  # `ImageUploadPassword`


def _ends_in_pass(name: str, last: str) -> bool:
    """True for `SSHPASS`; written small, words with this end are ordinary ones."""
    return name.isupper() and last.endswith("pass") and last not in words_of("other")


def _split(piece: str) -> list[str]:
    """The words of a run of letters, which stays whole where the table knows it: `apiKey`, `APIKEY`."""
    if not piece.isascii() or piece.lower() in _secrets():
        return [piece]
    return _CAMEL.findall(piece)


def _of_words(words: list[str]) -> Strength:
    if _tells(words, "password"):
        return Strength.PASSWORD
    if _tells(words, "secret"):
        return Strength.STRONG
    last = words[-1]
    if last in words_of("pass"):
        return Strength.PASSWORD if len(words) > 1 else Strength.PASS
    if last in words_of("short"):
        return Strength.STRONG if len(words) > 1 else Strength.ASSIGNED
    if last in words_of("key"):
        return Strength.KEY if len(words) > 1 else Strength.WEAK
    all_weak = words_of("short") | words_of("pass") | words_of("key") | words_of("weak")
    return Strength.NONE if all_weak.isdisjoint(words) else Strength.WEAK


def _has(role: str, words: list[str]) -> bool:
    """True where one of the words, or two neighbors, have this role."""
    pairs = (f"{first} {second}" for first, second in zip(words, words[1:], strict=False))
    return not words_of(role).isdisjoint(words) or not words_of(role).isdisjoint(pairs)


def _tells(words: list[str], role: str) -> bool:
    """True where a word of this role stands alone, ends a run of letters, or is made of two neighbors."""
    if _has(role, words):
        return True
    return any(word.endswith(known) for word in words for known in _endings(role))


@cache
def _endings(role: str) -> tuple[str, ...]:
    """The words of secrets that end other words; those of other scripts stand in no spaces."""
    return tuple(word for word in words_of(role) if len(word) >= _LONG_ENOUGH or not word.isascii())
