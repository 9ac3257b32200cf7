"""Names that are one slip of the keyboard away from a package in the data."""

from __future__ import annotations

from collections.abc import Collection

# Short names differ by one letter without any slip: torch, torchx.
_LONG_ENOUGH = 7


def meant_by(name: str, known: Collection[str]) -> str:
    """The known name that one slip makes another of; '' for a known one, and where none is near."""
    if name in known:
        return ""
    near = (one for one in known if len(one) >= _LONG_ENOUGH and abs(len(one) - len(name)) <= 1)
    return min((one for one in near if _one_slip(name, one)), default="")


def _one_slip(first: str, second: str) -> bool:
    """Whether one letter more, less or other, or two letters in the other order, make one text of the other."""
    pairs = zip(first, second, strict=False)
    start = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
    rest, other = first[start:], second[start:]
    swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return swapped or rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
