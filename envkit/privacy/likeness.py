"""What a random text looks like: the one test for values that only their form betrays."""

from __future__ import annotations

from functools import lru_cache

from envkit._startup.regex import regex

_SHORTEST = 8
_LONGEST_MODEL = 12  # of a name like `H100SXM5`
_LEAST_CHANGES = 3  # between letters and digits: `cuda12x` has two, ten random characters have four
_LEAST_SHARE = 0.45  # of neighbors of different kinds: words in camel case have a third, random letters half and more
_VALUE = regex(r"[A-Za-z0-9_+/=~-]{8,4000}")
_CHOSEN = regex(r"(?=[^\d]{0,64}\d)(?=[^A-Za-z]{0,64}[A-Za-z])[A-Za-z\d!@#$%^&*+?_~-]{6,64}")
_PIECES = regex(r"[A-Za-z0-9]{6,}")
_ENOUGH = 200  # of a long text
_LONG_RUN = regex(r"(?<![A-Za-z0-9])[A-Za-z0-9]{30,}")
_MANGLED = "_Z"  # how names of C++ begin in an error message


@lru_cache(1024)
def looks_random(text: str) -> bool:
    """True for what no person would write as a word, a version or a file: letters and digits in wild order."""
    if len(text) < _SHORTEST or not _VALUE.fullmatch(text) or len(text) <= _LONGEST_MODEL and _is_public(text):
        return False
    found = [_changes(piece) for piece in _PIECES.findall(text[:_ENOUGH])]
    return any(changes >= _LEAST_CHANGES or share >= _LEAST_SHARE for changes, share in found)


def looks_chosen(text: str) -> bool:
    """True for what people choose behind the word for a password: letters and digits, and no public name."""
    return bool(_CHOSEN.fullmatch(text)) and not _is_public(text)


def _is_public(text: str) -> bool:
    from envkit.privacy.words import is_public

    return is_public(text)


def looks_mixed(text: str) -> bool:
    """True for what people choose that no sentence holds: capitals, small letters and digits, and no public name."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return len(text) >= _SHORTEST and all(any(map(kind, text)) for kind in kinds) and looks_chosen(text)


def without_random_runs(text: str, hidden: str) -> str:
    """The text without long runs of capitals, small letters and digits in wild order: hashes have but one case."""
    return _LONG_RUN.sub(
        lambda run: hidden if _is_random_run(run.group(), text[run.start() - 1 : run.start()]) else run.group(), text
    )


def _is_random_run(run: str, before: str) -> bool:
    if before + run[:1] == _MANGLED or run.islower() or run.isupper() or not any(map(str.isdigit, run)):
        return False
    return _changes(run[:_ENOUGH])[1] >= _LEAST_SHARE


def _changes(text: str) -> tuple[int, float]:
    """How often a letter and a digit are neighbors, and the share of neighbors of different kinds."""
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in text]
    pairs = list(zip(kinds, kinds[1:], strict=False))
    changes = [pair for pair in pairs if pair[0] != pair[1]]
    return sum("d" in pair for pair in changes), len(changes) / len(pairs)
