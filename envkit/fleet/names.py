"""The names of hosts in short: `n[001-017,044]`, in the notation of clusters' schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.regex import regex

_NUMBERED = regex(r"(.*?)(\d{1,15})(\D*)")
_LISTED = frozenset("[],")  # mean something in the notation


def folded(names: Iterable[str], between: str = ",") -> str:
    """The names, sorted, with ranges for those that only differ in their last number, and `between` between them."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    parted: list[tuple[str, str, str]] = []
    for name in names:
        match = None if _LISTED & set(name) else _NUMBERED.fullmatch(name)
        if match:
            parted.append((match.group(1), match.group(3), match.group(2)))
        else:
            plain.append(name)
    padded = {(start, end, len(digits)) for start, end, digits in parted if digits[0] == "0" and len(digits) > 1}
    for start, end, digits in parted:
        width = len(digits) if (start, end, len(digits)) in padded else 0
        groups.setdefault((start, end, width), []).append(int(digits))
    shown = [(start, _group(start, end, width, numbers)) for (start, end, width), numbers in groups.items()]
    return between.join(text for _, text in sorted([*shown, *((name, name) for name in plain)]))


def listed(names: Iterable[str]) -> str:
    """The same for people, with a space to break a line at."""
    return folded(names, ", ")


def _group(start: str, end: str, width: int, numbers: Sequence[int]) -> str:
    ranges = list(_ranges(sorted(set(numbers))))
    texts = [f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in ranges]
    inside = texts[0] if len(ranges) == 1 and "-" not in texts[0] else f"[{','.join(texts)}]"
    return f"{start}{inside}{end}"


def _ranges(numbers: Sequence[int]) -> Iterable[tuple[int, int]]:
    low = high = numbers[0]
    for number in numbers[1:]:
        if number > high + 1:
            yield low, high
            low = number
        high = number
    yield low, high
